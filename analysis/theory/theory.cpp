#include "analysis/theory/theory.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "analysis/log/log_options.hpp"
#include "analysis/log/summary.hpp"
#include "device/base/error.hpp"
#include "optim/optimizer.hpp"

namespace onebit::analysis {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

enum class Value { largest, mean, root_mean_square };

/// Measures a column over the rows that have a value; `turn` converts a logged value to the one that is shown.
template <class Row, class Turn>
Measured measure(const std::vector<Row>& rows, double Row::*column, Value kind, const Turn& turn) {
  Measured result;
  double sum = 0, count = 0;
  for (const Row& row : rows) {
    if (std::isnan(row.*column)) continue;
    const double value = turn(row.*column);
    result.least = std::fmin(result.least, value);
    result.most = std::fmax(result.most, value);
    sum += kind == Value::root_mean_square ? row.*column : value;
    ++count;
  }
  if (count == 0) return result;
  const double mean = sum / count;
  result.value = kind == Value::largest ? result.most : kind == Value::mean ? mean : std::sqrt(std::max(0.0, mean));
  return result;
}

double as_it_is(double value) {
  return value;
}
double root(double square) {
  return std::sqrt(std::max(0.0, square));
}
double delta_of(double relative_error) {
  return 1 - relative_error * relative_error;
}

/// Returns the largest error norm of any worker at any step: the theorem's assumption bounds every one of them. NaN if
/// the log has no norms of individual workers.
double largest_worker_error(const sim::LogReader& log) {
  double largest = nan;
  if (!log.header().per_worker) return largest;
  for (const sim::WorkerRow& row : log.workers()) {
    for (const double norm : row.error_norm) largest = std::fmax(largest, norm);
  }
  return largest;
}

TheoryConstants constants_of(const sim::LogReader& log, const std::vector<sim::StepRow>& steps,
                             const std::vector<sim::ProbeRow>& probes) {
  const sim::LogHeader& header = log.header();
  using sim::ProbeRow, sim::StepRow;
  TheoryConstants c;
  c.path_smoothness = measure(probes, &ProbeRow::path_smoothness, Value::largest, as_it_is);
  c.smoothness = measure(probes, &ProbeRow::smoothness, Value::largest, as_it_is);
  c.noise = measure(probes, &ProbeRow::noise_square, Value::root_mean_square, root);
  c.heterogeneity = measure(probes, &ProbeRow::heterogeneity_square, Value::root_mean_square, root);
  c.least_denominator = measure(probes, &ProbeRow::least_denominator, Value::mean, as_it_is);
  c.worker_delta = measure(steps, &StepRow::worker_codec_error, Value::mean, delta_of);
  c.server_delta = measure(steps, &StepRow::server_codec_error, Value::mean, delta_of);
  c.worker_error = measure(steps, &StepRow::worker_error_norm, Value::largest, as_it_is);
  c.server_error = measure(steps, &StepRow::server_error_norm, Value::largest, as_it_is);
  const double worker_error = largest_worker_error(log);
  const bool unknown = std::isnan(worker_error) && std::isfinite(c.worker_error.most);
  if (!unknown) c.epsilon = 2 * std::fmax(worker_error, c.server_error.most);
  if (!header.constants) return c;
  const double batch = number_of(header, "batch") * number_of(header, "accumulation", 1);
  c.path_smoothness.known = c.smoothness.known = header.constants->smoothness;
  c.noise.known = header.constants->noise / std::sqrt(batch);
  c.heterogeneity.known = header.constants->heterogeneity;
  return c;
}

bool compresses(Index phase) {
  return phase == static_cast<Index>(optim::Phase::compression);
}

/// Returns the lowest known loss: the model's minimum, otherwise the lowest of the run.
double least_loss(const sim::LogReader& log) {
  const std::optional<sim::Constants>& constants = log.header().constants;
  if (constants && !std::isnan(constants->optimum_loss)) return constants->optimum_loss;
  double least = nan;
  for (const sim::EvaluationRow& row : log.evaluations()) least = std::fmin(least, row.loss);
  return least;
}

struct Stage {
  Index first = 0;  ///< first step of the stage
  double loss = 0;  ///< f(x0), the loss before the stage
  double lr = 0;    ///< mean learning rate of the stage
};

/// Returns the loss of the last evaluation up to a step; a training loss covers only a few examples.
double loss_before(const sim::LogReader& log, Index step) {
  double loss = nan;
  for (const sim::EvaluationRow& row : log.evaluations()) {
    if (row.step <= step) loss = row.loss;
  }
  return loss;
}

std::optional<Stage> compression_stage(const sim::LogReader& log, const std::vector<sim::StepRow>& steps) {
  const Index freeze = freeze_step_of(log.events());
  double sum = 0, count = 0;
  for (const sim::StepRow& row : steps) {
    if (!compresses(row.phase)) continue;
    sum += row.lr;
    ++count;
  }
  if (freeze == 0 || count == 0) return std::nullopt;
  return Stage{freeze + 1, loss_before(log, freeze), sum / count};
}

bool is_any_of(const sim::LogHeader& header, std::initializer_list<std::string_view> optimizers) {
  const std::string name = option_of(header, "optimizer").value_or("");
  return std::ranges::find(optimizers, name) != optimizers.end();
}

std::vector<BoundRow> bound_of(const sim::LogReader& log, const TheoryConstants& c, const Stage& stage,
                               const std::vector<sim::ProbeRow>& probes) {
  const double beta = number_of(log.header(), "optimizer.beta1", 0.9), inertia = (1 - beta) * (1 - beta);
  const double smoothness = std::fmax(c.smoothness.value, c.path_smoothness.value);
  const double noise = c.noise.value * c.noise.value, g = stage.lr, n = static_cast<double>(log.header().workers);
  const double start = 2 * (stage.loss - least_loss(log)) / g;
  std::vector<BoundRow> rows;
  double sum = 0;
  Index before = stage.first - 1;
  for (const sim::ProbeRow& probe : probes) {
    if (probe.step < stage.first || std::isnan(probe.least_denominator)) continue;
    const auto weight = static_cast<double>(probe.step - before);  // a probe represents the steps since the last one
    before = probe.step;
    sum += weight * probe.scaled_gradient_square;
    const double t = static_cast<double>(probe.step - stage.first + 1), v = probe.least_denominator;
    const double rate = g * smoothness / v, square = 2 * rate * rate / inertia;
    rows.push_back({.step = probe.step,
                    .factor = 1 - rate - square,
                    .left = (1 - rate - square) * sum,
                    .start = start,
                    .errors = 3 * square * c.epsilon * c.epsilon * t / v,
                    .noise = smoothness * g * noise * t / (n * v),
                    .momentum = square * noise * t / n});
  }
  return rows;
}

/// Returns the bound for optimizers whose workers feed gradients into the exchange. The input of 1-bit Adam contains
/// the shared momentum and thereby the errors of earlier exchanges, which the lemma does not cover.
ErrorBound error_bound(const sim::LogHeader& header, const TheoryConstants& c,
                       const std::vector<sim::ProbeRow>& probes) {
  ErrorBound result;
  const bool feeds = option_of(header, "feedback").value_or("auto") != "none";
  if (!feeds || !is_any_of(header, {"adam-naive-ec", "ef-sgd", "onebit-sgd"})) return result;
  if (!(c.worker_delta.least > 0 && c.worker_delta.least <= 1)) return result;
  result.error_square = c.worker_error.most * c.worker_error.most;
  result.delta = c.worker_delta.least;
  for (const sim::ProbeRow& probe : probes)
    result.input_square = std::fmax(result.input_square, probe.worker_gradient_square);
  result.bound = 4 * (1 - result.delta) * result.input_square / (result.delta * result.delta);
  return result;
}

Telescoping telescoping_of(const std::vector<sim::ProbeRow>& probes) {
  Telescoping result;
  for (const sim::ProbeRow& probe : probes) {
    if (std::isnan(probe.feedback_size) || probe.feedback_size == 0) continue;
    const double relative = probe.feedback_residual / probe.feedback_size;
    const bool first = ++result.probes == 1;
    if (!first && (std::isnan(result.worst) || relative <= result.worst)) continue;  // NaN counts as the worst
    result.worst = relative;
    result.step = probe.step;
  }
  return result;
}

}  // namespace

TheoryView view_theory(const sim::LogReader& log) {
  if (!log.header().probed)
    throw ConfigError("the log has no probes", log.path(),
                      "log a run with --probe.every K, e.g. a hundredth of its steps");
  const std::vector<sim::StepRow> steps = log.steps();
  const std::vector<sim::ProbeRow> probes = log.probes();
  if (steps.empty() || probes.empty())
    throw ConfigError("the log has no probe yet", log.path(), "train longer, or with a smaller --probe.every");
  TheoryView view;
  view.constants = constants_of(log, steps, probes);
  const std::optional<Stage> stage = compression_stage(log, steps);
  // The theorem assumes that the whole variance is frozen at one step and stays frozen.
  const bool moves = number_of(log.header(), "optimizer.variance-refresh", 0) > 0 || freezes_by_tensor(log.header());
  if (stage && !moves && is_any_of(log.header(), {"onebit-adam", "onebit-adam-32"}))
    view.bound = bound_of(log, view.constants, *stage, probes);
  view.error = error_bound(log.header(), view.constants, probes);
  view.telescoping = telescoping_of(probes);
  return view;
}

}  // namespace onebit::analysis
