#include "analysis/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/compare/arm_names.hpp"
#include "analysis/log/log_options.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::analysis {
namespace {

void require_all_comparable(std::span<const Arm> arms) {
  for (const Arm& arm : arms) {
    for (const Run& run : arm.runs) require_comparable(arms.front().runs.front(), run);
  }
}

/// Returns the learning rates of each arm and of its grid.
std::vector<Rates> rates_of(const std::vector<RateGrid>& grids, std::size_t arms) {
  std::vector<Rates> rates(arms);
  for (const RateGrid& grid : grids) {
    for (std::size_t i = 0; i < grid.arms.size(); ++i) rates[grid.arms[i]] = {grid.rates[i], grid.rates};
  }
  return rates;
}

std::string meanings_of_labels(std::span<const Arm> arms) {
  std::vector<OptionValues> options;
  for (const Arm& arm : arms) options.push_back(arm.options);
  return label_meanings(options);
}

/// Returns the common target of the arms at the best rates, or of all arms if no rate is best. Arms that ended above
/// their starting loss do not count, unless all did.
double default_target(std::span<const Arm> arms, const std::vector<RateGrid>& grids, bool& skips_risen) {
  std::vector<const Arm*> counted;
  for (const RateGrid& grid : grids) {
    if (grid.best) counted.push_back(&arms[grid.arms[*grid.best]]);
  }
  if (counted.empty()) {
    for (const Arm& arm : arms) counted.push_back(&arm);
  }
  const auto rose = [](const Arm* arm) { return start_and_end(*arm).rose(); };
  skips_risen = std::ranges::any_of(counted, rose) && !std::ranges::all_of(counted, rose);
  if (skips_risen) std::erase_if(counted, rose);
  return common_target(counted);
}

/// Returns the smallest number of evaluations of a finished run; 0 if none finished.
Index fewest_evaluations(std::span<const Arm> arms) {
  Index fewest = 0;
  for (const Arm& arm : arms) {
    for (const Run& run : arm.runs) {
      const Index count = std::ssize(run.evaluations);
      if (outcome_of(run) == Outcome::finished && count > 0 && (fewest == 0 || count < fewest)) fewest = count;
    }
  }
  return fewest;
}

/// An arm and its reference.
struct Pair {
  std::size_t reference, arm;
};

/// Whether an arm is at the best rate of its grid and its reference belongs to another grid.
bool is_at_best(std::span<const RateGrid> grids, const Pair& pair) {
  const RateGrid& grid = grid_with(grids, pair.arm);
  return best_arm(grid) == pair.arm && &grid != &grid_with(grids, pair.reference);
}

/// Returns the number of comparisons that could give an interval: those with at least two seeds in common, diverged
/// runs included. If there are none, all comparisons count.
Index comparisons_in(std::span<const Arm> arms, const std::vector<Pair>& pairs) {
  const auto seeds_of = [](const Arm& arm) {
    std::set<std::uint32_t> seeds;
    for (const Run& run : arm.runs) seeds.insert(run.summary.seed);
    return seeds;
  };
  const Index counted = std::ranges::count_if(pairs, [&](const Pair& pair) {
    const std::set<std::uint32_t> there = seeds_of(arms[pair.reference]), here = seeds_of(arms[pair.arm]);
    return std::ranges::count_if(here, [&](std::uint32_t seed) { return there.contains(seed); }) > 1;
  });
  return counted > 0 ? counted : std::ssize(pairs);
}

/// Judges one family of comparisons.
std::vector<Verdict> judge_all(std::span<const Arm> arms, const std::vector<Rates>& rates,
                               const std::vector<Pair>& pairs, double margin) {
  const Criterion criterion{.margin = margin, .comparisons = comparisons_in(arms, pairs)};
  std::vector<Verdict> verdicts;
  for (const auto& [there, here] : pairs) {
    verdicts.push_back(judge(arms[there], arms[here], rates[there], rates[here], criterion));
  }
  return verdicts;
}

/// States in each verdict's sentence and warnings how thoroughly its learning rates were searched.
void add_searches(const std::vector<RateGrid>& grids, const std::vector<Pair>& pairs, std::vector<Verdict>& verdicts) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const RateGrid& there = grid_with(grids, pairs[i].reference);
    const RateGrid& here = grid_with(grids, pairs[i].arm);
    const bool best = there.best && best_arm(there) == pairs[i].reference && here.best;
    if (best && (there.rates.size() > 1 || here.rates.size() > 1)) {
      const bool same = there.rates == here.rates;
      const std::string best_of = same ? "the best of the same " + std::to_string(here.rates.size()) + " learning rates"
                                       : "its best learning rate";
      verdicts[i].sentence = "with each arm at " + best_of + ", " + verdicts[i].sentence;
    }
    for (const std::string& warning : warnings_of(there, here)) verdicts[i].warnings.push_back(warning);
  }
}

void add_verdicts(std::span<const Arm> arms, const References& references, const std::vector<Rates>& rates,
                  double margin, Comparison& comparison) {
  std::vector<Pair> best, others;
  if (is_replay(arms.front().runs.front().header)) {
    comparison.notes.emplace_back("replays have no evaluations, so there are no losses to judge");
    return;
  }
  for (std::size_t i = 0; i < arms.size(); ++i) {
    if (!references.of[i]) continue;
    const Pair pair{*references.of[i], i};
    (is_at_best(comparison.grids, pair) ? best : others).push_back(pair);
  }
  comparison.verdicts = judge_all(arms, rates, best, margin);
  add_searches(comparison.grids, best, comparison.verdicts);
  comparison.other_rates = judge_all(arms, rates, others, margin);
}

/// Returns the rule of a family and, if there are few seeds, how small p can be.
std::string rule_of(const std::vector<Verdict>& verdicts) {
  constexpr Index enough = 6;  // least_p of six pairs is below 0.05
  Index most = 0;
  for (const Verdict& verdict : verdicts) most = std::max(most, std::ssize(verdict.seeds));
  std::string rule = text_of(verdicts);
  if (most < 2 || most >= enough) return rule;
  rule.append("; with ").append(std::to_string(most)).append(" seeds, p of the sign-flip test is at least ");
  rule.append(shortest(least_p(most))).append(" (below 0.05 takes ").append(std::to_string(enough));
  return rule.append(" seeds): judge by the interval");
}

}  // namespace

Comparison compare(std::span<const Arm> arms, const ComparisonRequest& request, const netmodel::CostModel& model) {
  if (arms.empty()) throw ConfigError("no arms to compare", "");
  require_all_comparable(arms);
  Comparison comparison;
  comparison.grids = rate_grids(arms);
  const References references = references_of(arms, comparison.grids, request.baseline);
  comparison.baseline = arms[references.baseline].name;
  if (std::string labels = meanings_of_labels(arms); !labels.empty()) comparison.notes.push_back(std::move(labels));
  if (!is_replay(arms.front().runs.front().header))  // replays have no verdicts
    comparison.notes.insert(comparison.notes.end(), references.notes.begin(), references.notes.end());
  comparison.evaluations = fewest_evaluations(arms);
  comparison.target_is_given = !std::isnan(request.target);
  comparison.target = comparison.target_is_given
                          ? request.target
                          : default_target(arms, comparison.grids, comparison.target_skips_risen);
  const std::vector<Rates> rates = rates_of(comparison.grids, arms.size());
  const bool has_exchanges = std::ranges::all_of(arms, [](const Arm& arm) {
    return std::ranges::none_of(arm.runs, [](const Run& run) { return std::isnan(run.summary.bytes); });
  });
  if (!has_exchanges) comparison.notes.emplace_back("a compact trace has no exchanges, so no times are estimated");
  if (has_exchanges) comparison.clusters = request.clusters;
  comparison.gradient_bytes = request.rules.step.gradient_bytes;
  PricedArms priced = price_arms(arms, comparison.target, comparison.clusters, request.rules, model);
  comparison.arms = std::move(priced.arms);
  comparison.computing = std::move(priced.computing);
  for (std::size_t i = 0; i < arms.size(); ++i) comparison.arms[i].rates = rates[i];
  add_verdicts(arms, references, rates, request.margin, comparison);
  return comparison;
}

std::vector<VerdictSection> sections_of(const Comparison& comparison) {
  std::vector<VerdictSection> sections;
  const auto add = [&](const std::string& heading, const std::vector<Verdict>& verdicts) {
    if (!verdicts.empty()) sections.push_back({heading, rule_of(verdicts), verdicts});
  };
  const bool both = !comparison.other_rates.empty();
  add(both ? "at the best learning rates" : "", comparison.verdicts);
  add("at other learning rates", comparison.other_rates);
  return sections;
}

}  // namespace onebit::analysis
