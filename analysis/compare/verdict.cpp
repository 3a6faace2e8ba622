#include "analysis/compare/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "analysis/compare/arm_names.hpp"
#include "analysis/compare/late_losses.hpp"
#include "device/base/text.hpp"

namespace onebit::analysis {
namespace {

/// Formats a number with `digits` significant digits.
std::string figure(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}

std::string percent(double share) {
  const double value = 100 * share;
  return (std::abs(value) < 999.5 ? figure(value, 3) : figure(std::round(value), 15)) + "%";
}

/// A mean difference above kTwofold, or an end of an interval above kTenfold, is given as a ratio.
constexpr double kTwofold = 1, kTenfold = 9;

/// Significance level with which a p is usually compared.
constexpr double kUsualLevel = 0.05;

std::string times(double shift) {
  constexpr double least = 1e-6, most = 1e12;
  const double ratio = 1 + shift;
  if (ratio < least) return "less than " + figure(least, 1);
  if (ratio > most) return "more than " + figure(most, 1);
  return ratio < 999.5 || ratio >= 1e6 ? figure(ratio, 3) : figure(std::round(ratio), 15);
}

/// Returns shift_text, as a ratio or as a percentage.
std::string shift_text(const Difference& difference, bool as_ratio) {
  const double shift = difference.mean;
  if (shift == 0) return "the same final loss";
  if (as_ratio) return "final loss " + times(shift) + " times as high";
  return "final loss " + percent(std::abs(shift)) + (shift < 0 ? " lower" : " higher");
}

std::string numbers_text(const std::vector<std::uint32_t>& seeds) {
  std::vector<std::string> words;
  for (std::uint32_t seed : seeds) words.push_back(std::to_string(seed));
  return join(words, ", ");
}

std::string seeds_text(const std::vector<std::uint32_t>& seeds) {
  return (seeds.size() == 1 ? "seed " : "seeds ") + numbers_text(seeds);
}

const Run* finished_run(const Arm& arm, std::uint32_t seed) {
  const auto found = std::ranges::find(arm.runs, seed, [](const Run& run) { return run.summary.seed; });
  return found == arm.runs.end() || outcome_of(*found) != Outcome::finished ? nullptr : &*found;
}

std::vector<std::uint32_t> seeds_with(const Arm& arm, Outcome outcome) {
  std::vector<std::uint32_t> seeds;
  for (const Run& run : arm.runs) {
    if (outcome_of(run) == outcome) seeds.push_back(run.summary.seed);
  }
  return seeds;
}

/// Sets the verdict's seeds and differences.
void compare_losses(const Arm& baseline, const Arm& arm, Verdict& verdict) {
  std::vector<double> losses, others, accuracies, aucs;
  for (const Run& run : baseline.runs) {
    const Run* other = finished_run(arm, run.summary.seed);
    if (outcome_of(run) != Outcome::finished || other == nullptr) continue;
    verdict.seeds.push_back(run.summary.seed);
    losses.push_back(run.summary.final_loss);
    others.push_back(other->summary.final_loss);
    accuracies.push_back(other->summary.accuracy - run.summary.accuracy);
    aucs.push_back(other->summary.auc - run.summary.auc);
  }
  verdict.difference = paired_difference(losses, others, verdict.criterion.level_of_each());
  verdict.accuracy = mean_interval(accuracies, verdict.criterion.level_of_each());
  verdict.auc = mean_interval(aucs, verdict.criterion.level_of_each());
}

std::string evidence(const Verdict& verdict) {
  const Difference& difference = verdict.difference;
  const std::string pairs = std::to_string(difference.pairs) + " paired seeds";
  if (difference.low == 0 && difference.high == 0) return "the same final loss with each of " + pairs;
  std::string text = estimate_text(difference, level_text(verdict.criterion.level_of_each()));
  text.append(", Student's t over ").append(pairs);
  return text.append("; sign-flip test: ").append(p_text(verdict.difference)).append(")");
}

std::string scarcity(const Verdict& verdict) {
  const std::string needed = " (two are needed)";
  if (verdict.seeds.empty()) return "no seed finished in both" + needed;
  return shift_text(verdict.difference) + " with " + seeds_text(verdict.seeds) + ", the only pair" + needed;
}

/// Names the seeds that diverged; empty if none did.
std::string divergence_of(const Arm& arm) {
  const std::vector<std::uint32_t> seeds = seeds_with(arm, Outcome::diverged);
  if (seeds.empty()) return "";
  const std::size_t runs = arm.runs.size();
  return spoken_name(arm.name) + " diverged on " + std::to_string(seeds.size()) + " of " + std::to_string(runs) +
         (runs == 1 ? " seed (" : " seeds (") + numbers_text(seeds) + ")";
}

std::string divergence(const Arm& baseline, const Arm& arm, const Verdict& verdict) {
  std::vector<std::string> words;
  for (const std::string& each : {divergence_of(arm), divergence_of(baseline)}) {
    if (!each.empty()) words.push_back(each);
  }
  std::string text = join(words, ", ");
  if (verdict.seeds.size() > 1) text += "; where both finished, " + evidence(verdict);
  if (verdict.seeds.size() == 1) text += "; where both finished, " + scarcity(verdict);
  return text;
}

/// Returns the clause on the arm that ended above its starting loss: "b ended at a loss of 17473, above its starting
/// loss of 2.72 (...)".
std::string failure(const Arm& baseline, const Arm& arm) {
  const Arm& failed = start_and_end(arm).rose() ? arm : baseline;
  return untrained_text(failed.name, start_and_end(failed));
}

std::string direction_text(const Verdict& verdict, const std::string& word) {
  const std::string yet = verdict.equivalent ? ", yet equivalent within " + percent(verdict.criterion.margin) : "";
  return spoken_name(verdict.arm) + " is " + word + " than " + spoken_name(verdict.baseline) + yet + ": " +
         evidence(verdict);
}

std::string main_clause(const Arm& baseline, const Arm& arm, const Verdict& verdict) {
  const std::string here = spoken_name(arm.name), there = spoken_name(baseline.name), pair = here + " and " + there;
  switch (verdict.judgement) {
    case Judgement::not_resolved:
      return pair + " cannot be told apart (" + need_text(verdict) + "): " + evidence(verdict);
    case Judgement::equivalent:
      return pair + " are equivalent within " + percent(verdict.criterion.margin) + ": " + evidence(verdict);
    case Judgement::better:
    case Judgement::worse:
      return direction_text(verdict, std::string(name(verdict.judgement)));
    case Judgement::too_few_seeds:
      return "too few seeds to judge " + here + " against " + there + ": " + scarcity(verdict);
    case Judgement::not_comparable_diverged:
      return pair + " are not comparable: " + divergence(baseline, arm, verdict);
    case Judgement::not_comparable_untrained:
      return pair + " are not comparable: " + failure(baseline, arm);
    case Judgement::undefined:
      break;
  }
  return "the relative difference of " + pair + " is undefined, because " + there + " has a final loss of 0";
}

/// Returns "0.01 (of 3 tried)".
std::string text_of(const Rates& rates) {
  if (!std::isfinite(rates.rate)) return "unknown";
  if (rates.tried.size() < 2) return shortest(rates.rate) + " (the only one tried)";
  return shortest(rates.rate) + " (of " + std::to_string(rates.tried.size()) + " tried)";
}

/// Returns the learning rates and how many were tried, without the parts that the names of the arms already contain;
/// empty if the names contain everything.
std::string rates_clause(const Arm& baseline, const Arm& arm, const Verdict& verdict) {
  const Rates &here = verdict.arm_rates, &there = verdict.baseline_rates;
  const bool known = std::isfinite(here.rate) && std::isfinite(there.rate);
  if (known && here.tried == there.tried) {
    const std::size_t tried = here.tried.size();
    if (names_rate(arm.name, arm.options) && names_rate(baseline.name, baseline.options)) return "";
    if (tried < 2) return "; learning rate " + shortest(here.rate) + " for both, the only one tried";
    return "; learning rate " + shortest(here.rate) + " against " + shortest(there.rate) + ", of the same " +
           std::to_string(tried) + " tried";
  }
  return "; learning rate " + text_of(here) + " against " + text_of(there);
}

void warn_of_missing_seeds(const Arm& arm, const Arm& other, std::vector<std::string>& warnings) {
  std::vector<std::uint32_t> seeds;
  for (const Run& run : arm.runs) {
    const bool there =
        std::ranges::any_of(other.runs, [&](const Run& theirs) { return theirs.summary.seed == run.summary.seed; });
    if (!there) seeds.push_back(run.summary.seed);
  }
  if (!seeds.empty()) warnings.push_back(other.name + " has no run with " + seeds_text(seeds) + ", unlike " + arm.name);
}

/// Returns the samples seen at the last evaluation of the first run that finished; -1: there is none.
Index samples_seen(const Arm& arm) {
  const auto run = std::ranges::find(arm.runs, Outcome::finished, outcome_of);
  return run == arm.runs.end() || run->evaluations.empty() ? -1 : run->evaluations.back().samples;
}

std::vector<std::string> warnings_of(const Arm& baseline, const Arm& arm) {
  std::vector<std::string> warnings;
  for (const Arm* each : {&baseline, &arm}) {
    for (const std::string& line : unfinished_lines(*each)) warnings.push_back(each->name + ": " + line);
  }
  warn_of_missing_seeds(baseline, arm, warnings);
  warn_of_missing_seeds(arm, baseline, warnings);
  const Index there = samples_seen(baseline), here = samples_seen(arm);
  if (there >= 0 && here >= 0 && there != here) {
    warnings.push_back(baseline.name + " ended after " + std::to_string(there) + " samples, " + arm.name + " after " +
                       std::to_string(here) + ": their final losses come from different amounts of training");
  }
  return warnings;
}

bool any_diverged(const Arm& arm) {
  return !seeds_with(arm, Outcome::diverged).empty();
}

/// Draws the conclusion from the difference, according to the criterion.
void conclude(const Arm& baseline, const Arm& arm, Verdict& verdict) {
  const Criterion& criterion = verdict.criterion;
  verdict.judgement = judge(verdict.difference, criterion.margin);
  verdict.equivalent = within_margin(verdict.difference, criterion.margin);
  const bool rose = start_and_end(arm).rose();
  verdict.neither_trained = rose && start_and_end(baseline).rose();
  if (rose != start_and_end(baseline).rose() && !verdict.equivalent)
    verdict.judgement = Judgement::not_comparable_untrained;
  if (verdict.judgement != Judgement::not_resolved) return;
  const Difference& difference = verdict.difference;
  const auto needed = [&](double share, double power = verdict_power) {
    return seeds_needed(difference.deviation, std::abs(difference.on_scale(share)), criterion.level_of_each(), power);
  };
  // There are too few seeds to resolve half of the margin, at least on the scale of the differences: otherwise the
  // interval would exclude 0 or lie within the margin.
  const double half = criterion.margin / 2;
  const double on_scale = difference.is_ratio ? std::expm1(difference.on_scale(criterion.margin) / 2) : half;
  for (const double share : {criterion.margin, half, on_scale}) {
    verdict.visible = share;
    if (needed(share) > difference.pairs) break;
  }
  verdict.seeds_needed = needed(verdict.visible);
  const double seen = std::abs(difference.mean);
  if (seen > verdict.visible) verdict.seeds_for_seen = needed(difference.mean);
  const double each_side = (1 + verdict_power) / 2;
  const Index equivalence = needed(criterion.margin, each_side);
  if (seen < criterion.margin && equivalence > difference.pairs) verdict.seeds_for_equivalence = equivalence;
}

}  // namespace

std::string level_text(double level) {
  const double left = std::strtod(figure(100 * (1 - level), 2).c_str(), nullptr);
  return figure(100 - left, 8) + "%";
}

std::string untrained_text(const std::string& arm, const StartAndEnd& losses) {
  const std::string above =
      losses.above < losses.runs ? ", of which " + std::to_string(losses.above) + " ended above" : "";
  const std::string means =
      losses.runs < 2 ? "" : " (means over " + std::to_string(losses.runs) + " seeds" + above + ")";
  return spoken_name(arm) + " ended at a loss of " + figure(losses.end, 3) + ", above its starting loss of " +
         figure(losses.start, 3) + means;
}

std::string need_text(const Verdict& verdict) {
  std::string text = "detecting " + percent(verdict.visible) + " takes " + seeds_needed_text(verdict.seeds_needed);
  if (verdict.seeds_for_seen > 0) text += ", the observed difference " + seeds_needed_text(verdict.seeds_for_seen);
  const Index equivalence = verdict.seeds_for_equivalence;
  if (equivalence > 0 && verdict.seeds_needed <= useful_seeds)
    text += ", showing equivalence within " + percent(verdict.criterion.margin) + " " + seeds_needed_text(equivalence) +
            " if the losses agree";
  return text;
}

std::string accuracy_text(const Verdict& verdict) {
  if (verdict.judgement == Judgement::not_comparable_untrained || verdict.neither_trained) return "";
  const bool clicks = std::isfinite(verdict.auc.half_width);
  const Interval& interval = clicks ? verdict.auc : verdict.accuracy;
  const double scale = clicks ? 1 : 100, mean = scale * interval.mean, half = scale * interval.half_width;
  if (!(half > 0 && std::abs(mean) > half)) return "";
  return (clicks ? "AUC is " : "accuracy is ") + number(std::abs(mean), 3) + (clicks ? "" : " points") +
         (mean < 0 ? " lower (" : " higher (") + level_text(verdict.criterion.level_of_each()) + " interval " +
         number(mean - half, 3) + " to " + number(mean + half, 3) + ", not counted among the comparisons)";
}

std::string seeds_needed_text(Index seeds) {
  if (seeds > useful_seeds) return "more than " + std::to_string(useful_seeds) + " seeds";
  const Index unit = seeds < 100 ? 1 : 10;
  return "about " + std::to_string((seeds + unit / 2) / unit * unit) + " seeds";
}

bool in_times(const Difference& difference) {
  constexpr double kThousandth = -0.999;
  return difference.is_ratio &&
         (difference.mean > kTwofold || difference.high > kTenfold || difference.low < kThousandth);
}

std::string shift_text(const Difference& difference) {
  return shift_text(difference, difference.is_ratio && difference.mean > kTwofold);
}

std::string estimate_text(const Difference& difference, const std::string& level) {
  return shift_text(difference, in_times(difference)) + " (" + level + " interval " + range_text(difference);
}

std::string range_text(const Difference& difference) {
  if (in_times(difference)) return times(difference.low) + " to " + times(difference.high) + " times as high";
  return percent(difference.low) + " to " + percent(difference.high);
}

std::string p_text(const Difference& difference) {
  const double least = least_p(difference.pairs);
  const bool is_least = least > kUsualLevel && difference.p <= least;
  return "p = " + figure(difference.p, 3) + (is_least ? ", the least possible" : "");
}

std::string_view name(Judgement judgement) {
  constexpr std::string_view names[] = {"not_resolved",
                                        "equivalent",
                                        "better",
                                        "worse",
                                        "too_few_seeds",
                                        "not_comparable_diverged",
                                        "not_comparable_untrained",
                                        "undefined"};
  return names[static_cast<std::size_t>(judgement)];
}

Judgement judge(const Difference& difference, double margin) {
  if (difference.pairs < 2) return Judgement::too_few_seeds;
  if (!std::isfinite(difference.mean)) return Judgement::undefined;
  if (!difference.contains_zero()) return difference.mean < 0 ? Judgement::better : Judgement::worse;
  return within_margin(difference, margin) ? Judgement::equivalent : Judgement::not_resolved;
}

bool within_margin(const Difference& difference, double margin) {
  return difference.low >= -margin && difference.high <= margin;
}

Verdict judge(const Arm& baseline, const Arm& arm, const Rates& baseline_rates, const Rates& arm_rates,
              const Criterion& criterion) {
  Verdict verdict;
  verdict.baseline = baseline.name;
  verdict.arm = arm.name;
  verdict.criterion = criterion;
  verdict.baseline_rates = baseline_rates;
  verdict.arm_rates = arm_rates;
  compare_losses(baseline, arm, verdict);
  const bool diverged = any_diverged(baseline) || any_diverged(arm);
  if (diverged) {
    verdict.judgement = Judgement::not_comparable_diverged;
  } else {
    conclude(baseline, arm, verdict);
  }
  verdict.sentence = main_clause(baseline, arm, verdict) + rates_clause(baseline, arm, verdict);
  if (verdict.neither_trained) verdict.sentence += "; both arms ended above their starting losses";
  verdict.warnings = warnings_of(baseline, arm);
  if (!diverged && !start_and_end(baseline).rose() && !start_and_end(arm).rose())
    add_late_warnings(baseline, arm, verdict);
  return verdict;
}

std::string text_of(const Criterion& criterion) {
  const bool one = criterion.comparisons == 1;
  const std::string each = level_text(criterion.level_of_each()) + " interval";
  return std::to_string(criterion.comparisons) +
         (one ? " comparison, judged by its " : " comparisons, each judged by its ") + each +
         (one ? "" : " (" + level_text(criterion.level) + " for all together, by Bonferroni)");
}

std::string text_of(const std::vector<Verdict>& verdicts) {
  const Criterion& criterion = verdicts.front().criterion;
  const auto any = [&](const auto& has) { return std::ranges::any_of(verdicts, has); };
  std::string text = text_of(criterion);
  if (any([](const Verdict& verdict) { return verdict.equivalent; }))
    text += "; equivalent means an interval within ±" + percent(criterion.margin);
  if (any([](const Verdict& verdict) { return verdict.seeds_needed > 0; }))
    text += "; the numbers of seeds are rough estimates, for a power of " + percent(verdict_power);
  return text;
}

std::vector<std::string> unfinished_lines(const Arm& arm) {
  std::vector<std::string> lines;
  for (const Run& run : arm.runs) {
    if (outcome_of(run) == Outcome::finished) continue;
    lines.push_back("seed " + std::to_string(run.summary.seed) + " " + reason_of(run) + " (" + run.summary.path + ")");
  }
  return lines;
}

}  // namespace onebit::analysis
