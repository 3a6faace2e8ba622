#include "analysis/log/summary.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/log/log_options.hpp"
#include "compress/channels/channel.hpp"
#include "optim/stages.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::analysis {
namespace {

using netmodel::TrafficList;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Mean of the values that are not NaN; NaN if there are none. Exact if all values are equal.
struct Mean {
  double mean = nan;
  double count = 0;
  void add(double value, double times = 1) {
    if (std::isnan(value) || !(times > 0)) return;
    count += times;
    mean = count > times ? mean + (value - mean) * (times / count) : value;
  }
  double value() const { return mean; }
};

/// Bytes sent in one direction. Half of an all-reduce counts as up, the other half as down.
double sent(const TrafficList& step, netmodel::Direction direction) {
  double bytes = 0;
  for (const netmodel::Traffic& exchange : step) {
    if (!is_of_boundary(exchange)) bytes += netmodel::sent_bytes(exchange, direction).value;
  }
  return bytes;
}

/// Returns the bytes of activations and their gradients that one worker sends in a step; NaN if it sends none.
double boundary_bytes(const TrafficList& step) {
  double bytes = nan;
  for (const netmodel::Traffic& exchange : step) {
    if (exchange.tensor != netmodel::kActivations) continue;
    bytes = (std::isnan(bytes) ? 0 : bytes) + netmodel::sent_bytes(exchange).value;
  }
  return bytes;
}

void add_bytes(const std::vector<StepRange>& exchanges, Summary& summary) {
  Mean dense, compressed, up, down, boundary;
  double messages = 0;
  for (const StepRange& range : exchanges) {
    if (range.each.empty()) continue;
    const double bytes = netmodel::sent_bytes(range.each).value;
    summary.bytes += range.steps() * bytes;
    for (const netmodel::Traffic& exchange : range.each) {
      messages += range.steps() * static_cast<double>(exchange.messages);
    }
    boundary.add(boundary_bytes(range.each), range.steps());
    if (!range.compressed) {
      dense.add(bytes, range.steps());
      continue;
    }
    compressed.add(bytes, range.steps());
    up.add(sent(range.each, netmodel::Direction::up), range.steps());
    down.add(sent(range.each, netmodel::Direction::down), range.steps());
  }
  if (summary.steps > 0) summary.step_messages = messages / static_cast<double>(summary.steps);
  summary.up_bytes = up.value();
  summary.down_bytes = down.value();
  summary.dense_step_bytes = dense.value();
  summary.compressed_step_bytes = compressed.value();
  const double fp32 = netmodel::sent_bytes(compress::DenseMean::plan(summary.workers, summary.parameters)).value;
  summary.boundary_bytes = boundary.value() * boundary.count;
  if (summary.bytes > 0 && std::isnan(summary.boundary_bytes)) {
    summary.ratio_fp32 = fp32 * static_cast<double>(summary.steps) / summary.bytes;
    summary.ratio_fp16 = summary.ratio_fp32 / 2;
  }
}

void add_evaluations(const sim::LogReader& log, Summary& summary) {
  const std::vector<sim::EvaluationRow> rows = log.evaluations();
  if (rows.empty()) return;
  summary.evaluated = rows.back().step;
  if (summary.status != sim::RunStatus::diverged) {
    summary.final_loss = rows.back().loss;
    summary.accuracy = rows.back().accuracy;
    summary.auc = rows.back().auc;
    summary.boundary_loss = rows.back().boundary_loss;
    summary.boundary_auc = rows.back().boundary_auc;
  }
  summary.best_loss = rows.front().loss;
  for (const sim::EvaluationRow& row : rows) summary.best_loss = std::fmin(summary.best_loss, row.loss);
}

void add_events(const sim::LogReader& log, Summary& summary) {
  const std::vector<sim::Event> events = log.events();
  summary.freeze_step = freeze_step_of(events);
  summary.reason = sim::reason_of_end(events);
}

void add_steps(const sim::LogReader& log, Summary& summary) {
  Mean worker, server, distance, sent, forward, backward, cosine;
  double codec = 0;
  std::vector<double> compute;
  Index samples = 0;
  for (const sim::StepRow& row : log.steps()) {
    if (row.step > summary.steps && std::isfinite(row.compute_seconds)) {
      compute.push_back(row.compute_seconds / static_cast<double>(row.step - summary.steps));
    }
    samples = row.samples;
    summary.steps = std::max(summary.steps, row.step);
    summary.masked = row.masked;
    summary.wall_seconds += row.wall_seconds;
    codec += row.codec_seconds;
    worker.add(row.worker_codec_error);
    server.add(row.server_codec_error);
    distance.add(row.worker_mean_distance);
    sent.add(row.boundary_sent_share);
    forward.add(row.boundary_forward_kept);
    backward.add(row.boundary_backward_kept);
    cosine.add(row.boundary_gradient_cosine);
  }
  if (summary.steps > 0) {
    summary.codec_seconds = codec / static_cast<double>(summary.steps);
    summary.batch = std::max<Index>(1, samples / summary.steps / std::max<Index>(1, summary.workers));
  }
  // The measured time covers all workers.
  if (!compute.empty()) summary.compute_seconds = median(compute) / static_cast<double>(summary.workers);
  summary.worker_codec_error = worker.value();
  summary.server_codec_error = server.value();
  summary.worker_mean_distance = distance.value();
  summary.boundary_sent_share = sent.value();
  summary.boundary_forward_kept = forward.value();
  summary.boundary_backward_kept = backward.value();
  summary.boundary_gradient_cosine = cosine.value();
}

/// Whether an option decides what is computed and how much of it, not where the data is stored or how it is read.
bool decides_gradients(const std::string& option) {
  const bool of_problem = option == "model" || option.starts_with("model.") || option == "data" ||
                          option.starts_with("data.") || option == "batch" || option == "accumulation";
  const bool of_place = option == "data.path" || option == "data.test";
  return of_problem && !of_place && sim::decides_results(option);
}

std::string gradients_of(const sim::LogHeader& header) {
  std::string text = header.data_hash + "\nworkers " + std::to_string(header.workers);
  const std::string optimizer = option_of(header, "optimizer").value_or("");
  text += "\ngradients " + std::to_string(optim::gradients_per_step(optimizer));
  for (const auto& [option, value] : header.config) {
    if (decides_gradients(option)) text += "\n" + option + " " + value;
  }
  return text;
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

RunSize size_of(const Summary& run) {
  return {run.workers, run.parameters, run.batch, std::isfinite(run.compute_seconds) ? run.compute_seconds : 0,
          run.passes};
}

CommunicationTime communication_of(const std::string& cluster, const Timeline& timeline) {
  Mean dense, compressed, all;
  CommunicationTime time{cluster, {}, nan, nan, nan};
  for (const StageTime& stage : timeline.stages()) {
    const double seconds = stage.step.communication.value;
    const auto steps = static_cast<double>(stage.steps);
    (stage.compressed ? compressed : dense).add(seconds, steps);
    all.add(seconds, steps);
    time.stages.push_back({stage.stage, stage.steps, seconds});
  }
  time.dense_seconds = dense.value();
  time.compressed_seconds = compressed.value();
  time.mean_seconds = all.value();
  return time;
}

Index freeze_step_of(const std::vector<sim::Event>& events) {
  Index step = 0;
  for (const sim::Event& event : events) {
    if (event.kind == "freeze") step = event.step;
  }
  return step;
}

Summary summarize(const sim::LogReader& log, std::span<const netmodel::Cluster> clusters,
                  const netmodel::CostModel& model) {
  return summarize(log, exchanges_of(log), clusters, model);
}

Summary summarize(const sim::LogReader& log, const std::vector<StepRange>& exchanges,
                  std::span<const netmodel::Cluster> clusters, const netmodel::CostModel& model,
                  const PriceRules& rules) {
  const sim::LogHeader& header = log.header();
  Summary summary;
  summary.path = log.path();
  summary.status = log.status();
  summary.seed = header.seed;
  summary.workers = header.workers;
  summary.constants = header.constants;
  summary.gradients = gradients_of(header);
  for (const compress::Tensor& tensor : header.tensors) summary.parameters += tensor.size;
  summary.passes = codec_passes(header);
  add_steps(log, summary);
  add_bytes(exchanges, summary);
  if (is_compact(log)) summary.bytes = nan;
  add_evaluations(log, summary);
  add_events(log, summary);
  for (const netmodel::Cluster& cluster : clusters) {
    const Timeline timeline(size_of(summary), exchanges, cluster, model, rules);
    summary.communication.push_back(communication_of(cluster.name, timeline));
  }
  return summary;
}

}  // namespace onebit::analysis
