#include "analysis/compare/late_losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "device/base/text.hpp"

namespace onebit::analysis {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string percent(double share) {
  return number(100 * share, 3) + "%";
}

/// Returns the fall of a run's evaluated loss over the last tenth of the steps, as a share of the loss before it; NaN
/// if there are too few evaluations to tell, or none is near the start of that tenth.
double late_fall(const Run& run) {
  constexpr std::size_t fewest = 5;
  const std::vector<sim::EvaluationRow>& rows = run.evaluations;
  if (rows.size() < fewest || !(rows.back().loss > 0)) return kNone;
  const double from = 0.9 * static_cast<double>(rows.back().step);
  const auto after =
      std::ranges::find_if(rows, [&](const sim::EvaluationRow& row) { return static_cast<double>(row.step) >= from; });
  const sim::EvaluationRow& before = after == rows.begin() ? *after : *(after - 1);
  const auto length = static_cast<double>(after->step - before.step);
  const double nearest =
      std::min(std::abs(from - static_cast<double>(before.step)), std::abs(from - static_cast<double>(after->step)));
  if (nearest > 0.025 * static_cast<double>(rows.back().step)) return kNone;  // too far away to interpolate
  const double share = length > 0 ? (from - static_cast<double>(before.step)) / length : 1;
  return 1 - rows.back().loss / (before.loss + share * (after->loss - before.loss));
}

/// The losses of one run over the last fifth of its steps.
struct LateLosses {
  double mean = kNone;  ///< NaN if there are too few evaluations
  double rise = 0;      ///< the largest rise from one evaluation to the next, relative to the lower loss
};

LateLosses late_losses(const Run& run) {
  const double from = 0.8 * static_cast<double>(run.evaluations.back().step);
  LateLosses late;
  double sum = 0, before = kNone;
  Index count = 0;
  for (const sim::EvaluationRow& row : run.evaluations) {
    if (static_cast<double>(row.step) < from) continue;
    if (before > 0 && row.loss > before) late.rise = std::max(late.rise, row.loss / before - 1);
    sum += before = row.loss;
    ++count;
  }
  if (count >= least_late_evaluations) late.mean = sum / static_cast<double>(count);
  return late;
}

/// Returns the falls of an arm's finished runs; empty if one of them is unknown, or if the loss of one rises by more
/// than the margin between two evaluations in the last fifth of the steps.
std::vector<double> late_falls(const Arm& arm, double margin) {
  std::vector<double> falls;
  for (const Run& run : arm.runs) {
    if (outcome_of(run) != Outcome::finished) continue;
    const double fall = late_fall(run);
    falls.push_back(!std::isnan(fall) && late_losses(run).rise > margin ? kNone : fall);
  }
  if (std::ranges::any_of(falls, [](double fall) { return std::isnan(fall); })) falls.clear();
  return falls;
}

/// Returns the warning if the arm with the higher loss was still improving; otherwise empty. open: whether the losses
/// cannot be told apart.
std::string falling_text(const Arm& behind, const Arm& ahead, double margin, bool open) {
  const std::vector<double> falls = late_falls(behind, margin), others = late_falls(ahead, margin);
  if (falls.empty() || others.empty()) return "";
  const double least = std::ranges::min(falls), most = std::max(0.0, std::ranges::max(others));
  if (!(least > most + 2 * margin)) return "";
  return "the loss of " + behind.name + " was still falling when its runs ended, by " + percent(least) +
         " or more over the last tenth of the steps, but the loss of " + ahead.name +
         (most > 0 ? " by " + percent(most) + " or less" : " was not") +
         (open ? ": a longer run may end differently" : ": a longer run may change the order");
}

/// Checks a verdict against the last fifth of the steps. Sets hinges_on_last and returns a warning, or sets
/// rests_on_last, or sets neither. Without a warning, the result is empty.
std::string hinge_text(const Arm& baseline, const Arm& arm, Verdict& verdict) {
  std::vector<double> here, there;
  double rise = 0;
  for (const std::uint32_t seed : verdict.seeds) {
    for (const auto& [each, means] : {std::pair(&baseline, &there), std::pair(&arm, &here)}) {
      const LateLosses late =
          late_losses(*std::ranges::find(each->runs, seed, [](const Run& run) { return run.summary.seed; }));
      means->push_back(late.mean);
      rise = std::max(rise, late.rise);
    }
  }
  const double margin = verdict.criterion.margin;
  const bool open = verdict.judgement == Judgement::not_resolved,
             equivalent = verdict.judgement == Judgement::equivalent;
  const auto is_unknown = [](double mean) { return std::isnan(mean); };
  const bool unknown = std::ranges::any_of(there, is_unknown) || std::ranges::any_of(here, is_unknown);
  verdict.rests_on_last = unknown && !open;
  if (unknown) return "";
  const Difference difference = paired_difference(there, here, verdict.criterion.level_of_each());
  const bool agrees = open         ? difference.contains_zero()
                      : equivalent ? within_margin(difference, margin)
                                   : !difference.contains_zero() && difference.mean * verdict.difference.mean > 0;
  verdict.hinges_on_last = rise > margin && !agrees && !std::isnan(difference.low);
  if (!verdict.hinges_on_last) return "";
  verdict.late = difference;
  return "averaged over the evaluations in the last fifth of the steps, the losses of " + arm.name + " and " +
         baseline.name +
         (difference.contains_zero() ? equivalent ? " are not shown to be equivalent (" : " cannot be told apart ("
          : open || equivalent       ? " differ ("
                                     : " differ the other way (") +
         (difference.contains_zero() ? "" : arm.name + (difference.mean > 0 ? " is higher: " : " is lower: ")) +
         level_text(verdict.criterion.level_of_each()) + " interval " + range_text(difference) +
         "): the verdict hinges on the last evaluation, and in that fifth, losses rise by up to " + percent(rise) +
         " from one evaluation to the next";
}

}  // namespace

void add_late_warnings(const Arm& baseline, const Arm& arm, Verdict& verdict) {
  const double shift = verdict.difference.mean;
  if (std::isfinite(shift) && shift != 0) {
    const Arm &behind = shift > 0 ? arm : baseline, &ahead = shift > 0 ? baseline : arm;
    const std::string falling =
        falling_text(behind, ahead, verdict.criterion.margin, verdict.judgement == Judgement::not_resolved);
    if (!falling.empty()) verdict.warnings.push_back(falling);
  }
  constexpr Judgement judged[] = {Judgement::better, Judgement::worse, Judgement::equivalent, Judgement::not_resolved};
  if (std::ranges::find(judged, verdict.judgement) == std::end(judged)) return;
  verdict.late_warning = hinge_text(baseline, arm, verdict);
  if (!verdict.late_warning.empty()) verdict.warnings.push_back(verdict.late_warning);
}

}  // namespace onebit::analysis
