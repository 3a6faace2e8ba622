#include "experiments/study/replay_log.hpp"

#include <algorithm>

#include "analysis/log/log_options.hpp"
#include "device/base/text.hpp"
#include "sim/log/compact.hpp"
#include "sim/run/run_header.hpp"

namespace onebit::experiments {
namespace {

bool is_in_log(const std::string& option) {
  return is_of_replay(option) || option.starts_with("log.") || option == "workers" || option == "steps";
}

sim::LogHeader header_of(const Origin& origin, const sim::GradientTrace& trace, const std::string& reference,
                         const ReplayPlan& plan, const Replay& replay) {
  const sim::RunConfig config = replay.config();
  sim::RunIdentity identity{origin.program_version, origin.git_commit, origin.command_line, values_of(config)};
  std::erase_if(identity.options, [](const auto& option) { return !is_in_log(option.first); });
  identity.options.emplace_back(analysis::kReplayedTrace, trace.path());
  if (!reference.empty()) identity.options.emplace_back("replay.reference", reference);
  if (plan.penalty != 0) identity.options.emplace_back("replay.penalty", shortest(plan.penalty));
  sim::LogHeader header = sim::begun_header(config.log, identity);
  header.devices = replay.devices();
  header.data_hash = trace.hash();
  header.seed = config.optimizer.exchange.seed;
  header.workers = config.workers;
  header.tensors = trace.tensors();
  header.variance_lag = sim::variance_lag_of(config.optimizer);
  if (!trace.compact()) return header;
  header.per_worker = false;
  for (std::size_t t = 0; t < header.tensors.size(); ++t) header.tensors[t].size = trace.tensor_sizes()[t];
  return header;
}

}  // namespace

bool is_of_replay(const std::string& option) {
  constexpr std::string_view used[] = {"optimizer", "codec",    "channel", "feedback",
                                       "freeze",    "schedule", "devices", "threads"};
  return std::ranges::find(used, std::string_view(option).substr(0, option.find('.'))) != std::end(used);
}

ReplayLog::ReplayLog(const std::string& path, bool overwrite, const Origin& origin, const sim::GradientTrace& trace,
                     const std::string& reference, const ReplayPlan& plan, Replay& replay)
    : path_(path),
      compact_(trace.compact()),
      config_(replay.config()),
      devices_(replay.measured()),
      writer_(path, header_of(origin, trace, reference, plan, replay), overwrite) {}

void ReplayLog::take(const sim::StepOutcome& outcome) {
  step_ = outcome.step;
  const sim::RowsDue due = sim::rows_due(config_.log, step_, outcome.probe.has_value(), config_.steps);
  if (!compact_) writer_.append(step_, outcome.report.traffic);
  codec_seconds_ += outcome.report.seconds.codec();
  sim::StepRows rows = sim::measure_rows(devices_, outcome, due);
  if (rows.step) {
    const Clock::time_point now = Clock::now();
    rows.step->wall_seconds = std::chrono::duration<double>(now - last_).count();
    rows.step->codec_seconds = codec_seconds_;
    last_ = now;
    codec_seconds_ = 0;
    writer_.append(known(*rows.step));
  }
  if (rows.workers && !compact_) writer_.append(*rows.workers);
  if (due.tensors) {
    devices_.on_each([&](const sim::MeasuredDevice& device) {
      if (device.shard.rank() == 0) writer_.append(known(sim::measure_tensors(device, step_, false)));
    });
  }
  for (const optim::Event& event : outcome.report.events) writer_.append(sim::Event{step_, event.kind, event.text});
  if (!flushes_.due(step_)) return;
  writer_.flush();
  flushes_.restart();
}

/// Keeps the columns that a compact trace determines.
sim::StepRow ReplayLog::known(sim::StepRow row) const {
  if (!compact_) return row;
  sim::StepRow kept;
  kept.step = row.step;
  kept.phase = row.phase;
  for (const auto column : {&sim::StepRow::lr, &sim::StepRow::loss, &sim::StepRow::grad_norm, &sim::StepRow::clip_share,
                            &sim::StepRow::variance_l1, &sim::StepRow::variance_ratio,
                            &sim::StepRow::variance_ratio_corrected, &sim::StepRow::wall_seconds}) {
    kept.*column = row.*column;
  }
  return kept;
}

sim::TensorRow ReplayLog::known(sim::TensorRow row) const {
  if (!compact_) return row;
  const std::vector<double> none(row.variance_l1.size(), sim::not_applicable);
  sim::for_each_field<sim::TensorRow>([&](const sim::Column& column, auto member) {
    if constexpr (std::is_same_v<decltype(member), std::vector<double> sim::TensorRow::*>) {
      if (column.name != "variance_l1") row.*member = none;
    }
  });
  return row;
}

void ReplayLog::finish() {
  writer_.close(sim::RunStatus::finished);
  if (config_.log.compression > 0) sim::compress_log(path_, static_cast<int>(config_.log.compression));
}

void ReplayLog::fail(sim::RunStatus status, const std::string& kind, const std::string& reason) {
  writer_.append(sim::Event{step_, kind, reason});
  writer_.close(status);
}

}  // namespace onebit::experiments
