#include "analysis/summary.hpp"

#include <algorithm>
#include <cmath>

#include "compress/channel.hpp"
#include "netmodel/closed_form.hpp"

namespace onebit::analysis {
namespace {

using netmodel::TrafficList;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The traffic of each step, in step order.
std::vector<TrafficList> traffic_by_step(const sim::LogReader& log) {
  std::vector<TrafficList> steps;
  Index current = -1;
  for (const sim::StepTraffic& row : log.traffic()) {
    if (row.step != current) steps.emplace_back();
    current = row.step;
    steps.back().push_back(row.traffic);
  }
  return steps;
}

bool is_dense(const TrafficList& step) {
  return std::all_of(step.begin(), step.end(), [](const netmodel::Traffic& exchange) {
    return exchange.collective == netmodel::Collective::all_reduce;
  });
}

/// Mean of the values; NaN for none.
struct Mean {
  double sum = 0;
  Index count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return count > 0 ? sum / static_cast<double>(count) : nan; }
};

void add_bytes(const std::vector<TrafficList>& steps, Summary& summary) {
  Mean dense, compressed;
  for (const TrafficList& step : steps) {
    const double bytes = netmodel::sent_bytes(step).value;
    summary.bytes += bytes;
    (is_dense(step) ? dense : compressed).add(bytes);
  }
  summary.dense_step_bytes = dense.value();
  summary.compressed_step_bytes = compressed.value();
  const double fp32 = netmodel::sent_bytes(compress::DenseMean::plan(summary.workers, summary.parameters)).value;
  if (summary.bytes > 0) {
    summary.ratio_fp32 = fp32 * static_cast<double>(summary.steps) / summary.bytes;
    summary.ratio_fp16 = summary.ratio_fp32 / 2;
  }
}

CommunicationTime price(const std::vector<TrafficList>& steps, const netmodel::Cluster& cluster) {
  const netmodel::ClosedForm model;
  Mean dense, compressed, all;
  const TrafficList* last = nullptr;
  double seconds = 0;
  for (const TrafficList& step : steps) {
    if (last == nullptr || step != *last) seconds = total_cost(model, step, cluster).total.value;
    last = &step;
    (is_dense(step) ? dense : compressed).add(seconds);
    all.add(seconds);
  }
  return {cluster.name, dense.value(), compressed.value(), all.value()};
}

void add_evaluations(const sim::LogReader& log, Summary& summary) {
  const std::vector<sim::EvaluationRow> rows = log.evaluations();
  if (rows.empty()) return;
  summary.final_loss = rows.back().loss;
  summary.accuracy = rows.back().accuracy;
  summary.best_loss = rows.front().loss;
  for (const sim::EvaluationRow& row : rows) summary.best_loss = std::fmin(summary.best_loss, row.loss);
}

void add_events(const sim::LogReader& log, Summary& summary) {
  for (const sim::Event& event : log.events()) {
    if (event.kind == "freeze") summary.freeze_step = event.step;
    if (summary.status != sim::RunStatus::finished) summary.reason = event.text;
  }
}

void add_steps(const sim::LogReader& log, Summary& summary) {
  for (const sim::StepRow& row : log.steps()) {
    summary.steps = std::max(summary.steps, row.step);
    summary.masked = row.masked;
    summary.wall_seconds += row.wall_seconds;
  }
}

}  // namespace

Summary summarize(const sim::LogReader& log, std::span<const netmodel::Cluster> clusters) {
  const sim::LogHeader& header = log.header();
  Summary summary;
  summary.path = log.path();
  summary.status = log.status();
  summary.seed = header.seed;
  summary.workers = header.workers;
  for (const sim::TensorInfo& tensor : header.tensors) summary.parameters += tensor.size;
  const std::vector<TrafficList> steps = traffic_by_step(log);
  add_steps(log, summary);
  add_bytes(steps, summary);
  add_evaluations(log, summary);
  add_events(log, summary);
  for (const netmodel::Cluster& cluster : clusters) summary.communication.push_back(price(steps, cluster));
  return summary;
}

}  // namespace onebit::analysis
