#include "analysis/freeze/variance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/log/log_options.hpp"
#include "analysis/log/summary.hpp"
#include "device/base/error.hpp"
#include "optim/optimizer.hpp"
#include "optim/read_options.hpp"
#include "optim/two_stage/freeze.hpp"

namespace onebit::analysis {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Divisors that turn the stored variance of a step into the corrected one.
class Weights {
 public:
  Weights(const sim::LogHeader& header, const std::vector<sim::StepRow>& rows, Index freeze_step)
      : bias_{number_of(header, "optimizer.beta2", 0.999), removes_bias(header)},
        freeze_(freeze_step),
        refresh_(static_cast<Index>(number_of(header, "optimizer.variance-refresh", 0))),
        by_tensor_(freezes_by_tensor(header)) {
    if (!optim::takes_option(option_of(header, "optimizer").value_or(""), "var-freeze-step")) return;
    Index full_rounds = 0;
    for (const sim::StepRow& row : rows) {
      full_rounds += row.phase == static_cast<Index>(optim::Phase::warmup) ? 1 : 0;
      updates_.push_back(row.step == static_cast<Index>(updates_.size()) + 1 ? full_rounds : -1);
    }
  }

  /// Returns the weight of the frozen variance, which changes only with refreshes.
  double frozen_at(Index step) const {
    if (by_tensor_ || refresh_ == 0) return at(freeze_);
    return bias_.weight(freeze_ + (step - freeze_) / refresh_);
  }

  /// Returns the weight of the variance up to the freeze, and of its shadow afterwards. NaN if the log does not show
  /// how often the variance was updated.
  double at(Index step) const {
    if (by_tensor_ && step == freeze_) return 1;  // the frozen variance is stored without bias
    if (updates_.empty() || !bias_.removed) return bias_.weight(step);
    const Index updates =
        step <= static_cast<Index>(updates_.size()) ? updates_[static_cast<std::size_t>(step - 1)] : -1;
    return updates < 0 ? nan : bias_.weight(updates);
  }

 private:
  static bool removes_bias(const sim::LogHeader& header) {
    const std::string reads = std::string(optim::options_of_optimizer(option_of(header, "optimizer").value_or("")));
    return (reads.empty() || reads.find("bias-correction") != std::string::npos) &&
           option_of(header, "optimizer.bias-correction").value_or("true") == "true" &&
           option_of(header, "optimizer.semantics").value_or("paper") == "paper";
  }

  optim::VarianceBias bias_;
  Index freeze_;   // 0: never
  Index refresh_;  // steps after the freeze between two updates; 0: none
  bool by_tensor_;
  std::vector<Index> updates_;  // number of updates up to each step, for a variance that is not updated at every step
};

/// Returns, for every step, the stability ratio of a norm and its value `lag` steps earlier; NaN if either is not
/// logged.
std::vector<double> ratios(const std::vector<Index>& steps, const std::vector<double>& norms, Index lag) {
  std::vector<double> result(steps.size(), nan);
  std::size_t before = 0;
  for (std::size_t now = 0; now < steps.size(); ++now) {
    while (steps[before] < steps[now] - lag) ++before;
    if (steps[before] == steps[now] - lag) result[now] = optim::stability_ratio(norms[now], norms[before]);
  }
  return result;
}

/// Returns norms corrected for their bias.
std::vector<double> corrected(const std::vector<Index>& steps, std::vector<double> norms, const Weights& weights) {
  for (std::size_t i = 0; i < norms.size(); ++i) norms[i] /= weights.at(steps[i]);
  return norms;
}

/// Adds the norms of the variance up to the freeze, and of its shadow afterwards.
void add_norms(const std::vector<sim::StepRow>& rows, const std::vector<sim::ProbeRow>& probes, const std::string& path,
               VarianceView& view) {
  std::map<Index, const sim::ProbeRow*> shadow;
  for (const sim::ProbeRow& probe : probes) shadow.emplace(probe.step, &probe);
  for (const sim::StepRow& row : rows) {
    view.steps.push_back(row.step);
    const bool frozen = view.freeze_step > 0 && row.step > view.freeze_step;
    const auto found = shadow.find(row.step);
    const sim::ProbeRow* probe = found == shadow.end() ? nullptr : found->second;
    view.l1.push_back(!frozen ? row.variance_l1 : probe == nullptr ? nan : probe->shadow_l1);
    view.l2.push_back(!frozen ? row.variance_l2 : probe == nullptr ? nan : probe->shadow_l2);
  }
  if (std::ranges::none_of(view.l1, [](double norm) { return norm > 0; }))
    throw ConfigError("the run has no variance to analyze", path,
                      "use the log of a run with an optimizer of the Adam family");
}

/// Adds the corrected series for each lag and both norms, and the raw l1 series for the last lag, which is the rule's.
void add_stability(const std::vector<Index>& lags, const Weights& weights, VarianceView& view) {
  const std::vector<double> l1 = corrected(view.steps, view.l1, weights), l2 = corrected(view.steps, view.l2, weights);
  for (const Index lag : lags) {
    view.stability.push_back({"l1", lag, false, ratios(view.steps, l1, lag)});
    view.stability.push_back({"l2", lag, false, ratios(view.steps, l2, lag)});
  }
  view.stability.push_back({"l1", lags.back(), true, ratios(view.steps, view.l1, lags.back())});
}

/// Finds where a ratio stays at or above the threshold, at the steps that the rule examines.
Stay stay_of(double threshold, const StabilitySeries& series, const VarianceView& view, Index dwell) {
  Stay stay;
  optim::Dwell stretch(threshold, dwell);
  for (std::size_t i = 0; i < series.ratio.size(); ++i) {
    const Index step = view.steps[i];
    if (step < view.rule_after || std::isnan(series.ratio[i])) continue;
    const bool spans = stretch.push(step, series.ratio[i]);
    if (stay.first == 0) stay.first = stretch.first();
    if (stay.freeze > 0 && stretch.first() != stay.from) break;
    if (stay.freeze == 0 && spans) {
      stay.from = stretch.first();
      stay.freeze = step;
    }
    if (stay.freeze > 0) stay.until = step;
  }
  return stay;
}

/// Returns the number of steps that a run was to take, or the number that it took if the planned number is not in the
/// log. A run that diverged or was killed is judged like one that finished.
Index planned_steps(const sim::LogHeader& header, const std::vector<sim::StepRow>& rows) {
  return std::max(rows.back().step, static_cast<Index>(number_of(header, "steps", 0)));
}

Threshold apply(double threshold, const std::vector<sim::StepRow>& rows, const VarianceView& view, Index all_steps,
                Index dry_runs) {
  Threshold result{.threshold = threshold, .stay = {}, .volume_ratio = nan, .loss_then = nan};
  result.published = stay_of(threshold, view.stability.back(), view, 1).freeze;
  result.stay = stay_of(threshold, rule_series(view), view, view.rule_dwell);
  if (result.stay.freeze == 0) return result;
  const auto row = std::ranges::find(rows, result.stay.freeze, &sim::StepRow::step);
  result.freeze_step = row->step;
  result.deepspeed_step = result.freeze_step + 1 - dry_runs;
  result.share = static_cast<double>(result.freeze_step) / static_cast<double>(all_steps);
  result.volume_ratio = 1 / (result.share + (1 - result.share) / 16);
  result.loss_then = row->loss;
  return result;
}

/// Returns the step of the first row from which every known ratio of the tensor is at or above the threshold.
Index stable_from(const std::vector<Index>& steps, const std::vector<double>& ratio, double threshold) {
  optim::Dwell stretch(threshold, 1);
  for (std::size_t i = 0; i < ratio.size(); ++i) stretch.push(steps[i], ratio[i]);
  return stretch.first();
}

/// Returns the multiple of the cadence of /tensors that is nearest to the rule's lag.
Index tensor_lag(const std::vector<Index>& steps, Index lag) {
  if (steps.size() < 3) return lag;
  const Index cadence = std::max<Index>(1, steps[2] - steps[1]);
  return std::max<Index>(1, (lag + cadence / 2) / cadence) * cadence;
}

/// Returns the rows of /tensors after checking that each has a value per tensor.
std::vector<sim::TensorRow> tensor_rows(const sim::LogReader& log) {
  std::vector<sim::TensorRow> rows = log.tensors();
  const std::size_t tensors = log.header().tensors.size();
  for (const sim::TensorRow& row : rows) {
    if (row.variance_l1.size() == tensors && row.shadow_l1.size() == tensors) continue;
    throw IoError("cannot read log: rows of /tensors do not have one value per tensor", log.path(),
                  "it may be damaged: train the run again");
  }
  return rows;
}

void add_tensors(const sim::LogReader& log, double threshold, const Weights& weights, VarianceView& view) {
  if (!log.header().per_tensor) return;
  const std::vector<sim::TensorRow> rows = tensor_rows(log);
  std::vector<Index>& steps = view.tensor_steps;
  for (const sim::TensorRow& row : rows) {
    if (view.freeze_step > 0 && row.step > view.freeze_step) break;
    steps.push_back(row.step);
  }
  const std::vector<compress::Tensor>& tensors = log.header().tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    std::vector<double> norms;
    for (std::size_t i = 0; i < steps.size(); ++i) norms.push_back(rows[i].variance_l1[t]);
    norms = corrected(steps, std::move(norms), weights);
    const std::vector<double> ratio = ratios(steps, norms, tensor_lag(steps, view.rule_lag));
    TensorStability tensor{tensors[t].name, tensors[t].size, stable_from(steps, ratio, threshold), nan, nan};
    for (const double value : ratio) {
      if (!std::isnan(value)) tensor.last_ratio = value;
    }
    if (view.freeze_step > 0 && !rows.empty()) {
      const double bias = weights.frozen_at(rows.back().step) / weights.at(rows.back().step);
      tensor.drift = bias * rows.back().shadow_l1[t] / rows.back().variance_l1[t];
    }
    tensor.ratio = ratio;
    view.tensors.push_back(std::move(tensor));
  }
}

void add_drift(const Weights& weights, const std::vector<sim::StepRow>& rows, const std::vector<sim::ProbeRow>& probes,
               VarianceView& view) {
  if (view.freeze_step == 0) return;
  // Drift is measured against the variance at the freeze, even if it is refreshed later.
  const auto row = std::ranges::find_if(rows, [&](const sim::StepRow& each) { return each.step >= view.freeze_step; });
  if (row == rows.end()) return;
  const double frozen = row->variance_l1 / weights.at(view.freeze_step);
  for (const sim::ProbeRow& probe : probes) {
    if (probe.step <= view.freeze_step || std::isnan(probe.shadow_l1)) continue;
    view.drift.steps.push_back(probe.step);
    view.drift.norm_ratio.push_back(probe.shadow_l1 / weights.at(probe.step) / frozen);
    view.drift.rate_drift.push_back(probe.rate_drift);
    view.drift.moved_share.push_back(probe.moved_share);
  }
}

/// Returns the given lags or, if there are none, the run's own lag, and a tenth and a third of it. A tenth of the run
/// replaces the run's lag if that lag is unknown, if two lags do not fit into the planned run, or if the run ended
/// before two lags, with no freeze later than one lag.
std::vector<Index> lags_or_default(std::vector<Index> lags, Index own, Index all_steps, Index last_step,
                                   Index freeze_step) {
  if (!lags.empty()) return lags;
  Index rule = own > 0 && own <= all_steps / 2 ? own : std::max<Index>(1, all_steps / 10);
  if (rule > last_step / 2 && freeze_step <= rule) rule = std::max<Index>(1, last_step / 10);  // it ended early
  for (const Index lag : {rule / 10, rule / 3, rule}) {
    if (lag > 0) lags.push_back(lag);
  }
  return lags;
}

}  // namespace

const StabilitySeries& rule_series(const VarianceView& view) {
  return *std::ranges::find_if(view.stability, [&](const StabilitySeries& series) {
    return series.norm == "l1" && series.lag == view.rule_lag && !series.raw;
  });
}

Index cut_off(const VarianceView& view) {
  if (view.freeze_step == 0) return 0;
  const std::vector<double>& ratio = rule_series(view).ratio;
  Index last = 0, probed = 0;  // steps at which the ratio and the norm are last known
  for (std::size_t i = 0; i < ratio.size(); ++i) {
    if (!std::isnan(ratio[i])) last = view.steps[i];
    if (!std::isnan(view.l1[i])) probed = view.steps[i];
  }
  if (last <= view.freeze_step) return view.freeze_step;
  return last <= view.freeze_step + view.rule_lag && last < probed ? last : 0;
}

VarianceView view_variance(const sim::LogReader& log, const VarianceOptions& options) {
  const std::vector<sim::StepRow> rows = log.steps();
  if (rows.empty()) throw ConfigError("the log has no steps yet", log.path(), "wait until the run has logged a few");
  const std::vector<sim::ProbeRow> probes = log.header().probed ? log.probes() : std::vector<sim::ProbeRow>();
  VarianceView view;
  view.freeze_step = freeze_step_of(log.events());
  view.rule_after = static_cast<Index>(
      std::max(number_of(log.header(), "schedule.warmup", 0), number_of(log.header(), "freeze.after", 0)));
  add_norms(rows, probes, log.path(), view);
  view.own_lag = log.header().variance_lag;
  const Index all_steps = planned_steps(log.header(), rows);
  const std::vector<Index> lags =
      lags_or_default(options.lags, view.own_lag, all_steps, rows.back().step, view.freeze_step);
  view.rule_lag = lags.back();
  const auto dwell = static_cast<Index>(number_of(log.header(), "freeze.dwell", 0));
  view.rule_dwell = dwell > 0 ? dwell : optim::default_dwell(view.rule_lag);
  const Weights weights(log.header(), rows, view.freeze_step);
  add_stability(lags, weights, view);
  const Index dry_runs = option_of(log.header(), "optimizer.semantics") == "deepspeed" ? 1 : 0;
  for (const double threshold : options.thresholds)
    view.thresholds.push_back(apply(threshold, rows, view, all_steps, dry_runs));
  view.tensor_threshold = options.tensor_threshold;
  add_tensors(log, options.tensor_threshold, weights, view);
  add_drift(weights, rows, probes, view);
  return view;
}

}  // namespace onebit::analysis
