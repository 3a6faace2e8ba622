#include "analysis/summary.hpp"

#include <algorithm>
#include <cmath>

#include "compress/channel.hpp"

namespace onebit::analysis {
namespace {

using netmodel::TrafficList;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Mean of the values that are there; NaN for none.
struct Mean {
  double sum = 0;
  double count = 0;
  void add(double value, double times = 1) {
    if (std::isnan(value)) return;
    sum += times * value;
    count += times;
  }
  double value() const { return count > 0 ? sum / count : nan; }
};

/// All-reduces count half up and half down.
double sent(const TrafficList& step, netmodel::Direction direction) {
  double bytes = 0;
  for (const netmodel::Traffic& exchange : step) bytes += netmodel::sent_bytes(exchange, direction).value;
  return bytes;
}

void add_bytes(const std::vector<Stretch>& exchanges, Summary& summary) {
  Mean dense, compressed, up, down;
  for (const Stretch& stretch : exchanges) {
    const double bytes = netmodel::sent_bytes(stretch.each).value;
    summary.bytes += stretch.steps() * bytes;
    if (is_dense(stretch.each, summary.parameters)) {
      dense.add(bytes, stretch.steps());
      continue;
    }
    compressed.add(bytes, stretch.steps());
    up.add(sent(stretch.each, netmodel::Direction::up), stretch.steps());
    down.add(sent(stretch.each, netmodel::Direction::down), stretch.steps());
  }
  summary.up_bytes = up.value();
  summary.down_bytes = down.value();
  summary.dense_step_bytes = dense.value();
  summary.compressed_step_bytes = compressed.value();
  const double fp32 = netmodel::sent_bytes(compress::DenseMean::plan(summary.workers, summary.parameters)).value;
  if (summary.bytes > 0) {
    summary.ratio_fp32 = fp32 * static_cast<double>(summary.steps) / summary.bytes;
    summary.ratio_fp16 = summary.ratio_fp32 / 2;
  }
}

/// Steps without an exchange count in the mean.
CommunicationTime price(const std::vector<Stretch>& exchanges, const Summary& summary, const netmodel::Cluster& cluster,
                        const netmodel::CostModel& model) {
  const std::vector<double> seconds = seconds_of(exchanges, netmodel::Fabric(cluster, summary.workers), model);
  Mean dense, compressed;
  double all = 0;
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    (is_dense(exchanges[i].each, summary.parameters) ? dense : compressed).add(seconds[i], exchanges[i].steps());
    all += exchanges[i].steps() * seconds[i];
  }
  return {cluster.name, dense.value(), compressed.value(), all / static_cast<double>(summary.steps)};
}

void add_evaluations(const sim::LogReader& log, Summary& summary) {
  const std::vector<sim::EvaluationRow> rows = log.evaluations();
  if (rows.empty()) return;
  if (summary.status != sim::RunStatus::diverged) {
    summary.final_loss = rows.back().loss;
    summary.accuracy = rows.back().accuracy;
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
  Mean worker, server;
  double codec = 0;
  for (const sim::StepRow& row : log.steps()) {
    summary.steps = std::max(summary.steps, row.step);
    summary.masked = row.masked;
    summary.wall_seconds += row.wall_seconds;
    codec += row.codec_seconds;
    worker.add(row.worker_codec_error);
    server.add(row.server_codec_error);
  }
  if (summary.steps > 0) summary.codec_seconds = codec / static_cast<double>(summary.steps);
  summary.worker_codec_error = worker.value();
  summary.server_codec_error = server.value();
}

}  // namespace

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

Summary summarize(const sim::LogReader& log, const std::vector<Stretch>& exchanges,
                  std::span<const netmodel::Cluster> clusters, const netmodel::CostModel& model) {
  const sim::LogHeader& header = log.header();
  Summary summary;
  summary.path = log.path();
  summary.status = log.status();
  summary.seed = header.seed;
  summary.workers = header.workers;
  summary.constants = header.constants;
  for (const sim::TensorInfo& tensor : header.tensors) summary.parameters += tensor.size;
  add_steps(log, summary);
  add_bytes(exchanges, summary);
  add_evaluations(log, summary);
  add_events(log, summary);
  for (const netmodel::Cluster& cluster : clusters)
    summary.communication.push_back(price(exchanges, summary, cluster, model));
  return summary;
}

}  // namespace onebit::analysis
