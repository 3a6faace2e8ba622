#include "analysis/variance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/log_options.hpp"
#include "analysis/summary.hpp"
#include "device/error.hpp"

namespace onebit::analysis {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double symmetric(double now, double before) {
  if (!(now > 0 && before > 0)) return nan;
  return std::min(now / before, before / now);
}

/// At every step the ratio of a norm to that of `lag` steps before, where both are logged.
std::vector<double> ratios(const std::vector<Index>& steps, const std::vector<double>& norms, Index lag) {
  std::vector<double> result(steps.size(), nan);
  std::size_t before = 0;
  for (std::size_t now = 0; now < steps.size(); ++now) {
    while (steps[before] < steps[now] - lag) ++before;
    if (steps[before] == steps[now] - lag) result[now] = symmetric(norms[now], norms[before]);
  }
  return result;
}

/// Norms of the variance while it moves, of its shadow afterwards.
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
    throw ConfigError("the run has no variance to look at", path, "an optimizer of the Adam family has one");
}

void add_stability(const std::vector<Index>& lags, VarianceView& view) {
  for (const Index lag : lags) {
    view.stability.push_back({"l1", lag, ratios(view.steps, view.l1, lag)});
    view.stability.push_back({"l2", lag, ratios(view.steps, view.l2, lag)});
  }
}

Threshold apply(double threshold, const std::vector<double>& ratio, const std::vector<sim::StepRow>& rows,
                const VarianceView& view, Index dry_runs) {
  Threshold result{.threshold = threshold, .volume_ratio = nan, .loss_then = nan};
  for (std::size_t i = 0; i < ratio.size(); ++i) {
    if (!(rows[i].step >= view.rule_after && ratio[i] >= threshold)) continue;
    result.freeze_step = rows[i].step;
    result.deepspeed_step = result.freeze_step + 1 - dry_runs;
    result.share = static_cast<double>(result.freeze_step) / static_cast<double>(rows.back().step);
    result.volume_ratio = 1 / (result.share + (1 - result.share) / 16);
    result.loss_then = rows[i].loss;
    break;
  }
  return result;
}

/// The first row from which on every ratio of the tensor holds.
Index stable_from(const std::vector<Index>& steps, const std::vector<double>& ratio, double threshold) {
  Index stable = 0;
  for (std::size_t i = 0; i < ratio.size(); ++i) {
    if (std::isnan(ratio[i])) continue;
    if (ratio[i] < threshold) stable = 0;
    if (ratio[i] >= threshold && stable == 0) stable = steps[i];
  }
  return stable;
}

/// A multiple of the cadence of /tensors, next to the rule's lag.
Index tensor_lag(const std::vector<Index>& steps, Index lag) {
  if (steps.size() < 3) return lag;
  const Index cadence = std::max<Index>(1, steps[2] - steps[1]);
  return std::max<Index>(1, (lag + cadence / 2) / cadence) * cadence;
}

/// Rows of /tensors, as wide as there are tensors.
std::vector<sim::TensorRow> tensor_rows(const sim::LogReader& log) {
  std::vector<sim::TensorRow> rows = log.tensors();
  const std::size_t tensors = log.header().tensors.size();
  for (const sim::TensorRow& row : rows) {
    if (row.variance_l1.size() == tensors && row.shadow_l1.size() == tensors) continue;
    throw IoError("log is damaged: rows of /tensors are not as wide as there are tensors", log.path());
  }
  return rows;
}

/// 1 - beta2^t where the optimizer corrects for it.
double bias(const sim::LogHeader& header, Index updates) {
  const bool corrects = option_of(header, "optimizer.bias-correction").value_or("true") == "true" &&
                        option_of(header, "optimizer.semantics").value_or("paper") == "paper";
  if (!corrects) return 1;
  return 1 - std::pow(number_of(header, "optimizer.beta2", 0.999), static_cast<double>(updates));
}

void add_tensors(const sim::LogReader& log, double threshold, VarianceView& view) {
  if (!log.header().per_tensor) return;
  const std::vector<sim::TensorRow> rows = tensor_rows(log);
  std::vector<Index>& steps = view.tensor_steps;
  for (const sim::TensorRow& row : rows) {
    if (view.freeze_step > 0 && row.step > view.freeze_step) break;
    steps.push_back(row.step);
  }
  const std::vector<sim::TensorInfo>& tensors = log.header().tensors;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    std::vector<double> norms;
    for (std::size_t i = 0; i < steps.size(); ++i) norms.push_back(rows[i].variance_l1[t]);
    const std::vector<double> ratio = ratios(steps, norms, tensor_lag(steps, view.rule_lag));
    TensorStability tensor{tensors[t].name, tensors[t].size, stable_from(steps, ratio, threshold), nan, nan};
    for (const double value : ratio) {
      if (!std::isnan(value)) tensor.last_ratio = value;
    }
    if (view.freeze_step > 0 && !rows.empty()) {
      const double corrected = bias(log.header(), view.freeze_step) / bias(log.header(), rows.back().step);
      tensor.drift = corrected * rows.back().shadow_l1[t] / rows.back().variance_l1[t];
    }
    tensor.ratio = ratio;
    view.tensors.push_back(std::move(tensor));
  }
}

void add_drift(const sim::LogReader& log, const std::vector<sim::StepRow>& rows,
               const std::vector<sim::ProbeRow>& probes, VarianceView& view) {
  if (view.freeze_step == 0) return;
  // From the freeze on every row has the frozen variance.
  const auto row = std::ranges::find_if(rows, [&](const sim::StepRow& each) { return each.step >= view.freeze_step; });
  if (row == rows.end()) return;
  const double frozen = row->variance_l1 / bias(log.header(), view.freeze_step);
  for (const sim::ProbeRow& probe : probes) {
    if (probe.step <= view.freeze_step || std::isnan(probe.shadow_l1)) continue;
    view.drift.steps.push_back(probe.step);
    view.drift.norm_ratio.push_back(probe.shadow_l1 / bias(log.header(), probe.step) / frozen);
    view.drift.rate_drift.push_back(probe.rate_drift);
    view.drift.moved_share.push_back(probe.moved_share);
  }
}

/// The run's own lag, or a tenth of the run where that is too long to be seen twice.
std::vector<Index> lags_or_default(std::vector<Index> lags, Index own, Index last_step) {
  if (!lags.empty()) return lags;
  const Index rule = own > 0 && own <= last_step / 2 ? own : std::max<Index>(1, last_step / 10);
  for (const Index lag : {rule / 10, rule / 3, rule}) {
    if (lag > 0) lags.push_back(lag);
  }
  return lags;
}

}  // namespace

VarianceView view_variance(const sim::LogReader& log, const VarianceOptions& options) {
  const std::vector<sim::StepRow> rows = log.steps();
  if (rows.empty()) throw ConfigError("the log has no steps yet", log.path());
  const std::vector<sim::ProbeRow> probes = log.header().probed ? log.probes() : std::vector<sim::ProbeRow>();
  VarianceView view;
  view.freeze_step = freeze_step_of(log.events());
  view.rule_after = static_cast<Index>(
      std::max(number_of(log.header(), "schedule.warmup", 0), number_of(log.header(), "freeze.after", 0)));
  add_norms(rows, probes, log.path(), view);
  const std::vector<Index> lags = lags_or_default(options.lags, log.header().variance_lag, rows.back().step);
  view.rule_lag = lags.back();
  add_stability(lags, view);
  const std::vector<double> ratio = ratios(view.steps, view.l1, view.rule_lag);
  const Index dry_runs = option_of(log.header(), "optimizer.semantics") == "deepspeed" ? 1 : 0;
  for (const double threshold : options.thresholds)
    view.thresholds.push_back(apply(threshold, ratio, rows, view, dry_runs));
  add_tensors(log, options.tensor_threshold, view);
  add_drift(log, rows, probes, view);
  return view;
}

}  // namespace onebit::analysis
