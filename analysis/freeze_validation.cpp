#include "analysis/freeze_validation.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace onebit::analysis {
namespace {

const DenseTrial* dense_of(std::span<const DenseTrial> dense, std::uint32_t seed) {
  const auto found = std::ranges::find(dense, seed, &DenseTrial::seed);
  return found == dense.end() ? nullptr : &*found;
}

FreezeVerdict verdict_of(const FreezeRow& row, double margin) {
  const Interval& cost = row.to_dense.relative;
  if (row.diverged > 0 || judge(row.to_dense, margin) == Judgement::worse) return FreezeVerdict::costs;
  const bool all = row.reached == row.seeds;
  return all && cost.mean + cost.half_width <= margin ? FreezeVerdict::safe : FreezeVerdict::not_resolved;
}

FreezeRow row_of(double threshold, std::span<const DenseTrial> dense, std::span<const FreezeTrial> trials,
                 double margin) {
  FreezeRow row;
  row.threshold = threshold;
  std::vector<double> steps, losses, dense_losses, ratios;
  for (const FreezeTrial& trial : trials) {
    const DenseTrial* parent = dense_of(dense, trial.seed);
    if (trial.threshold != threshold || parent == nullptr) continue;
    ++row.seeds;
    if (trial.freeze_step == 0) continue;
    ++row.reached;
    if (!std::isfinite(trial.final_loss)) {
      ++row.diverged;
      continue;
    }
    steps.push_back(static_cast<double>(trial.freeze_step));
    losses.push_back(trial.final_loss);
    dense_losses.push_back(parent->final_loss);
    ratios.push_back(trial.ratio_fp16);
  }
  row.freeze_step = mean_interval(steps);
  row.final_loss = mean_interval(losses);
  row.to_dense = paired_difference(dense_losses, losses);
  row.ratio_fp16 = mean_interval(ratios).mean;
  row.verdict = verdict_of(row, margin);
  return row;
}

}  // namespace

FreezeValidation validate_freeze(std::span<const DenseTrial> dense, std::span<const FreezeTrial> trials,
                                 double margin) {
  std::vector<double> losses, ratios;
  for (const DenseTrial& trial : dense) {
    losses.push_back(trial.final_loss);
    ratios.push_back(trial.ratio_fp16);
  }
  FreezeValidation result{.margin = margin,
                          .dense_loss = mean_interval(losses),
                          .dense_ratio_fp16 = mean_interval(ratios).mean,
                          .trials = {trials.begin(), trials.end()},
                          .rows = {},
                          .earliest = {}};
  std::set<double> thresholds;
  for (const FreezeTrial& trial : trials) thresholds.insert(trial.threshold);
  for (const double threshold : thresholds) result.rows.push_back(row_of(threshold, dense, trials, margin));
  for (std::size_t r = result.rows.size(); r-- > 0;) {
    if (result.rows[r].verdict == FreezeVerdict::costs) break;
    if (result.rows[r].verdict == FreezeVerdict::safe) result.earliest = r;
  }
  return result;
}

}  // namespace onebit::analysis
