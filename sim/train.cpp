#include "sim/train.hpp"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <ctime>

#include "device/error.hpp"
#include "device/text.hpp"
#include "sim/probe.hpp"

namespace onebit::sim {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string host_name() {
  char text[256] = "";
  gethostname(text, sizeof text - 1);
  return text;
}

/// What was read, shortened where a folder held very many files; the data hash covers them all.
std::string read_text(const std::vector<std::string>& provenance) {
  constexpr std::size_t shown = 100;
  const std::span<const std::string> lines(provenance);
  if (lines.size() <= shown) return join(lines, "; ");
  return join(lines.first(shown), "; ") + "; and " + std::to_string(lines.size() - shown) + " more";
}

LogHeader make_header(const VirtualCluster& cluster, const RunConfig& config, const RunIdentity& identity) {
  LogHeader header;
  header.program_version = identity.program_version;
  header.git_commit = identity.git_commit;
  header.created_utc = utc_now();
  header.command_line = identity.command_line;
  header.host = host_name();
  header.devices = cluster.devices();
  header.data_hash = cluster.data().hash();
  header.seed = config.seed;
  header.workers = config.workers;
  header.tensors = cluster.model().tensors();
  header.constants = cluster.model().constants(cluster.data());
  header.config = identity.options;
  header.config.emplace_back("data.read", read_text(cluster.data().provenance()));
  header.variance_lag = cluster.variance_lag();
  header.per_worker = config.log.workers_every > 0;
  header.per_tensor = config.log.tensors_every > 0;
  return header;
}

/// One run in progress.
class Run {
 public:
  Run(VirtualCluster& cluster, const RunConfig& config, LogWriter& log, const RunControl& control)
      : cluster_(cluster), config_(config), log_(log), control_(control) {
    eval_every_ = config.eval.every > 0 ? config.eval.every : std::max<Index>(1, cluster.steps() / 20);
  }

  RunResult train() {
    try {
      evaluate(0, 0);
      while (cluster_.step() < cluster_.steps()) {
        if (control_.stop_requested()) return end(RunStatus::stopped, "stopped by a signal", "stop");
        step();
      }
    } catch (const NumericError& error) {
      return end(RunStatus::diverged, error.what(), "divergence");
    }
    const std::string unfulfilled = cluster_.optimizer().unfulfilled();
    if (!unfulfilled.empty()) return end(RunStatus::failed, unfulfilled, "failure");
    return {RunStatus::finished, ""};
  }

 private:
  void step() {
    const Clock::time_point start = Clock::now();
    const StepOutcome outcome = cluster_.advance();
    log_step(outcome);
    for (const optim::Event& event : outcome.report.events) log_.append(Event{outcome.step, event.kind, event.text});
    const bool last = outcome.step == cluster_.steps();
    if (outcome.step % eval_every_ == 0 || last) evaluate(outcome.step, outcome.samples);
    flush_when_due();
    report_progress(outcome, seconds_between(start, Clock::now()));
  }

  void log_step(const StepOutcome& outcome) {
    const auto due = [&](Index every) { return every > 0 && (outcome.step % every == 0 || outcome.step == 1); };
    log_.append(outcome.step, outcome.report.traffic);
    bytes_ += netmodel::sent_bytes(outcome.report.traffic).value;
    compute_seconds_ += outcome.seconds.total();
    codec_seconds_ += outcome.report.seconds.codec();
    const bool workers_due = due(config_.log.workers_every);
    WorkerRow workers;
    if (workers_due) workers = measure_workers(cluster_, outcome);
    if (due(config_.log.every) || outcome.step == cluster_.steps()) {
      StepRow row = measure_step(cluster_, outcome);
      if (workers_due) measure_errors(cluster_, workers, row);
      // Times cover the steps since the row before, so that their sums hold for any cadence.
      const Clock::time_point now = Clock::now();
      row.wall_seconds = seconds_between(last_row_, now) - idle_seconds_;
      row.compute_seconds = compute_seconds_;
      row.codec_seconds = codec_seconds_;
      last_row_ = now;
      idle_seconds_ = compute_seconds_ = codec_seconds_ = 0;
      log_.append(row);
    }
    if (workers_due) log_.append(workers);
    if (due(config_.log.tensors_every)) log_.append(measure_tensors(cluster_, outcome.step));
  }

  void evaluate(Index step, Index samples) {
    if (cluster_.data().size(config_.eval.split) == 0) return;
    const Clock::time_point start = Clock::now();
    const Evaluation result = cluster_.evaluate();
    const double accuracy = cluster_.data().classes() > 0 ? result.accuracy() : not_applicable;
    idle_seconds_ += seconds_between(start, Clock::now());
    log_.append(EvaluationRow{step, samples, result.mean_loss(), accuracy, bytes_});
    if (!std::isfinite(result.loss)) {
      throw NumericError((config_.eval.split == DataSource::Split::holdout ? "held-out loss is not finite: "
                                                                           : "evaluated loss is not finite: ") +
                             cluster_.first_bad_tensor(),
                         "step " + std::to_string(step), "lower the learning rate or clip gradients");
    }
  }

  void flush_when_due() {
    const Clock::time_point now = Clock::now();
    if (seconds_between(last_flush_, now) < config_.log.flush_seconds) return;
    log_.flush();
    last_flush_ = now;
  }

  void report_progress(const StepOutcome& outcome, double seconds) {
    const double rate = static_cast<double>(config_.workers * config_.batch * config_.accumulation) / seconds;
    control_.on_step({outcome.step, cluster_.steps(), outcome.loss, rate});
  }

  RunResult end(RunStatus status, const std::string& reason, const std::string& kind) {
    log_.append(Event{cluster_.step(), kind, reason});
    return {status, reason};
  }

  VirtualCluster& cluster_;
  const RunConfig& config_;
  LogWriter& log_;
  const RunControl& control_;
  Index eval_every_ = 1;
  double bytes_ = 0;  ///< sent by one worker so far
  Clock::time_point last_flush_ = Clock::now();
  Clock::time_point last_row_ = last_flush_;
  double idle_seconds_ = 0;                         ///< spent in evaluations since the last row
  double compute_seconds_ = 0, codec_seconds_ = 0;  ///< since the last row
};

}  // namespace

RunResult train(VirtualCluster& cluster, const RunConfig& config, const std::string& path, bool overwrite,
                const RunIdentity& identity, const RunControl& control) {
  LogWriter log(path, make_header(cluster, config, identity), overwrite);
  control.on_start();
  const RunResult result = Run(cluster, config, log, control).train();
  log.close(result.status);
  return result;
}

}  // namespace onebit::sim
