#include "analysis/freeze/freeze_validation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::analysis {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

std::string seeds_text(const std::vector<std::uint32_t>& seeds) {
  std::vector<std::string> words;
  for (const std::uint32_t seed : seeds) words.push_back(std::to_string(seed));
  return (seeds.size() == 1 ? "seed " : "seeds ") + join(words, ", ");
}

/// Measures the cost of one run against another.
class Scale {
 public:
  Scale(std::span<const DenseTrial> dense, const FreezeCriterion& criterion) : measure_(criterion.measure) {
    for (const DenseTrial& trial : dense) check(trial);
    if (measure_ != FreezeMeasure::loss || dense.empty()) return;
    const double sum = std::accumulate(dense.begin(), dense.end(), 0.0,
                                       [](double all, const DenseTrial& trial) { return all + trial.outcome.loss; });
    unit_ = sum / static_cast<double>(dense.size()) - criterion.reference;
    if (unit_ > 0) return;
    throw ConfigError("the dense runs end at or below the reference, so a cost relative to their excess is undefined",
                      "reference " + shortest(criterion.reference), "give a lower --reference");
  }

  double cost(const FreezeOutcome& from, const FreezeOutcome& to) const {
    if (std::isnan(from.loss)) return nan;
    if (std::isnan(to.loss)) return infinite;
    switch (measure_) {
      case FreezeMeasure::accuracy:
        return from.accuracy - to.accuracy;
      case FreezeMeasure::steps:
        return std::isnan(from.steps) ? nan : std::isnan(to.steps) ? infinite : to.steps / from.steps - 1;
      case FreezeMeasure::loss:
        break;
    }
    return (to.loss - from.loss) / unit_;
  }

 private:
  void check(const DenseTrial& trial) const {
    if (std::isnan(trial.outcome.loss))
      throw ConfigError("the dense run diverged, so a cost relative to it is undefined", seeds_text({trial.seed}),
                        "use a lower --lr");
    if (measure_ == FreezeMeasure::accuracy && std::isnan(trial.outcome.accuracy))
      throw ConfigError("the model has no accuracy", "measure accuracy", "use --measure loss");
    if (measure_ == FreezeMeasure::steps && std::isnan(trial.outcome.steps))
      throw ConfigError("the dense run does not reach the target", seeds_text({trial.seed}), "give a higher --target");
  }

  FreezeMeasure measure_;
  double unit_ = 1;
};

/// Names the seeds that rule out safety; empty if there are none.
std::string beyond(const FreezeCost& cost, std::span<const std::uint32_t> seeds, double margin) {
  std::vector<std::uint32_t> diverged, over;
  for (std::size_t s = 0; s < seeds.size(); ++s) {
    if (cost.by_seed[s] > margin) (std::isinf(cost.by_seed[s]) ? diverged : over).push_back(seeds[s]);
  }
  std::vector<std::string> reasons;
  if (!diverged.empty()) reasons.push_back(seeds_text(diverged) + " diverged or did not reach the target");
  if (!over.empty()) reasons.push_back(seeds_text(over) + (over.size() == 1 ? " is" : " are") + " beyond the margin");
  return join(reasons, "; ");
}

void conclude(FreezeCost& cost, std::span<const std::uint32_t> seeds, double margin, double level) {
  const bool finite = std::ranges::all_of(cost.by_seed, [](double value) { return std::isfinite(value); });
  cost.interval = finite ? mean_interval(cost.by_seed, level) : Interval{nan, nan, 0};
  cost.p = sign_flip_p(cost.by_seed);
  if (std::string reason = beyond(cost, seeds, margin); !reason.empty()) {
    cost.verdict = FreezeVerdict::costs;
    cost.reason = std::move(reason);
    return;
  }
  const auto unknown = std::ranges::count_if(cost.by_seed, [](double value) { return std::isnan(value); });
  if (unknown > 0) {
    cost.reason = "not tried with " + std::to_string(unknown) + " of " + std::to_string(seeds.size()) + " seeds";
    return;
  }
  const double low = cost.interval.mean - cost.interval.half_width;
  const double high = cost.interval.mean + cost.interval.half_width;
  if (high <= margin) {
    cost.verdict = low > 0 ? FreezeVerdict::safe_but_worse : FreezeVerdict::safe;
    return;
  }
  const auto count = static_cast<Index>(seeds.size());
  double squares = 0;
  for (const double value : cost.by_seed) squares += (value - cost.interval.mean) * (value - cost.interval.mean);
  const double deviation = count > 1 ? std::sqrt(squares / static_cast<double>(count - 1)) : nan;
  const double room = margin - cost.interval.mean;
  if (std::isnan(deviation)) {
    cost.reason = "one seed gives no interval";
    cost.more_seeds = 1;
  } else {
    cost.more_seeds = std::max<Index>(1, seeds_needed(deviation, room, level, verdict_power) - count);
  }
}

class Judge {
 public:
  Judge(std::span<const DenseTrial> dense, std::span<const FreezeTrial> trials, const FreezeCriterion& criterion)
      : dense_(dense), trials_(trials), criterion_(criterion), scale_(dense, criterion) {}

  FreezeCost freeze(std::size_t candidate, std::span<const std::uint32_t> seeds, double level) const {
    return cost_of(candidate, seeds, level,
                   [](const FreezeOutcome& dense, const FreezeTrial& trial) { return std::pair(dense, trial.frozen); });
  }
  FreezeCost compression(std::size_t candidate, std::size_t arm, std::span<const std::uint32_t> seeds,
                         double level) const {
    return cost_of(candidate, seeds, level, [arm](const FreezeOutcome&, const FreezeTrial& trial) {
      return std::pair(trial.frozen, trial.compressed[arm]);
    });
  }
  FreezeCost together(std::size_t candidate, std::size_t arm, std::span<const std::uint32_t> seeds,
                      double level) const {
    return cost_of(candidate, seeds, level, [arm](const FreezeOutcome& dense, const FreezeTrial& trial) {
      return std::pair(dense, trial.compressed[arm]);
    });
  }

  /// Returns the trial of a candidate and a seed; null if the candidate was not reached, or not run.
  const FreezeTrial* trial_of(std::size_t candidate, std::uint32_t seed) const {
    const auto found = std::ranges::find_if(trials_, [&](const FreezeTrial& trial) {
      return trial.candidate == candidate && trial.seed == seed && trial.freeze_step > 0;
    });
    return found == trials_.end() ? nullptr : &*found;
  }

 private:
  template <class Pick>
  FreezeCost cost_of(std::size_t candidate, std::span<const std::uint32_t> seeds, double level,
                     const Pick& pick) const {
    FreezeCost cost;
    for (const std::uint32_t seed : seeds) {
      const FreezeTrial* trial = trial_of(candidate, seed);
      const auto dense = std::ranges::find(dense_, seed, &DenseTrial::seed);
      if (trial == nullptr || dense == dense_.end()) {
        cost.by_seed.push_back(nan);
        continue;
      }
      const auto [from, to] = pick(dense->outcome, *trial);
      cost.by_seed.push_back(scale_.cost(from, to));
    }
    conclude(cost, seeds, criterion_.margin, level);
    return cost;
  }

  std::span<const DenseTrial> dense_;
  std::span<const FreezeTrial> trials_;
  const FreezeCriterion& criterion_;
  Scale scale_;
};

FreezeRow row_of(const Judge& judge, std::size_t candidate, const FreezeValidation& validation, double level) {
  FreezeRow row;
  const std::vector<std::uint32_t>& seeds = validation.seeds;
  std::vector<double> steps;
  std::vector<std::vector<double>> ratios(validation.arms.size());
  for (const std::uint32_t seed : seeds) {
    const FreezeTrial* trial = judge.trial_of(candidate, seed);
    if (trial == nullptr) continue;
    ++row.reached;
    steps.push_back(static_cast<double>(trial->freeze_step));
    for (std::size_t arm = 0; arm < ratios.size(); ++arm) ratios[arm].push_back(trial->compressed[arm].ratio_fp16);
  }
  row.freeze_step = mean_interval(steps);
  row.freeze = judge.freeze(candidate, seeds, level);
  for (std::size_t arm = 0; arm < ratios.size(); ++arm) {
    row.arms.push_back({judge.compression(candidate, arm, seeds, level), judge.together(candidate, arm, seeds, level),
                        mean_interval(ratios[arm]).mean});
  }
  return row;
}

/// Returns the earliest candidate whose cost lies within the margin for every choosing seed, provided that the same
/// holds for all later candidates that any of these seeds reached.
std::optional<std::size_t> chosen(const Judge& judge, const FreezeValidation& validation) {
  std::optional<std::size_t> row;
  for (std::size_t candidate = validation.rows.size(); candidate-- > 0;) {
    const std::vector<double> costs = judge.together(candidate, 0, validation.choosing, 0.95).by_seed;
    const bool none = std::ranges::all_of(costs, [](double cost) { return std::isnan(cost); });
    const bool inside = std::ranges::all_of(costs, [&](double cost) { return cost <= validation.criterion.margin; });
    if (inside) row = candidate;
    if (!inside && !none) break;
  }
  return row;
}

double level_of(const FreezeCriterion& criterion, Index comparisons) {
  return Criterion{.margin = criterion.margin, .level = criterion.level, .comparisons = comparisons}.level_of_each();
}

}  // namespace

std::string_view name(FreezeVerdict verdict) {
  constexpr std::string_view names[] = {"safe", "safe, measurably worse", "too costly", "unclear"};
  return names[static_cast<std::size_t>(verdict)];
}

FreezeValidation validate_freeze(const std::vector<std::string>& candidates, const std::vector<std::string>& arms,
                                 std::span<const DenseTrial> dense, std::span<const FreezeTrial> trials,
                                 const FreezeCriterion& criterion) {
  FreezeValidation result;
  result.criterion = criterion;
  result.arms = arms;
  result.dense.assign(dense.begin(), dense.end());
  result.trials.assign(trials.begin(), trials.end());
  std::vector<double> losses, ratios;
  for (const DenseTrial& trial : dense) {
    losses.push_back(trial.outcome.loss);
    ratios.push_back(trial.outcome.ratio_fp16);
    result.seeds.push_back(trial.seed);
    const bool chooses = static_cast<Index>(result.choosing.size()) < criterion.choosing;
    (chooses ? result.choosing : result.judging).push_back(trial.seed);
  }
  result.dense_loss = mean_interval(losses);
  result.dense_ratio_fp16 = mean_interval(ratios).mean;
  result.comparisons = static_cast<Index>(candidates.size() * (1 + arms.size()));
  const Judge judge(dense, trials, criterion);
  for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
    result.rows.push_back(row_of(judge, candidate, result, level_of(criterion, result.comparisons)));
    result.rows.back().candidate = candidates[candidate];
  }
  const std::optional<std::size_t> row = chosen(judge, result);
  if (!row) return result;
  const double level = level_of(criterion, 2);
  result.choice = {*row, judge.freeze(*row, result.judging, level), judge.together(*row, 0, result.judging, level)};
  return result;
}

}  // namespace onebit::analysis
