#include "experiments/report/answers.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "analysis/compare/arm_names.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/output/run_output.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/clusters.hpp"
#include "experiments/report/costs.hpp"
#include "experiments/report/grids.hpp"
#include "experiments/report/html.hpp"
#include "experiments/report/savings.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;
using analysis::Comparison;
using analysis::Judgement;
using analysis::Verdict;

/// Returns "final loss 8.7% lower (97.5% interval -18.9% to 1.5%, 95% for both comparisons together; geometric mean
/// over 3 paired seeds)".
std::string shift_of(const Verdict& verdict) {
  const analysis::Criterion& criterion = verdict.criterion;
  std::string text = analysis::estimate_text(verdict.difference, analysis::level_text(criterion.level_of_each()));
  if (criterion.comparisons > 1) {
    const std::string all = criterion.comparisons == 2 ? "both" : "all " + std::to_string(criterion.comparisons);
    text += ", " + analysis::level_text(criterion.level) + " for " + all + " comparisons together";
  }
  text += verdict.difference.is_ratio ? "; geometric mean over " : "; mean over ";
  return text.append(html::counted(verdict.difference.pairs, "paired seed")).append(")");
}

/// Returns for an unresolved verdict how many seeds agree with the mean, and how many would be needed.
std::string need_of(const Verdict& verdict) {
  const analysis::Difference& difference = verdict.difference;
  const std::string some = std::to_string(difference.agreeing) + " of the " + html::counted(difference.pairs, "seed");
  const std::string seeds = difference.agreeing == difference.pairs ? "every seed" : some;
  return (difference.mean < 0 ? "lower with " : "higher with ") + seeds + "; " + analysis::need_text(verdict);
}

/// Whether the interval of a difference reaches into the margin within which losses count as the same.
bool may_be_within_margin(const Verdict& verdict) {
  const analysis::Difference& difference = verdict.difference;
  return difference.low < verdict.criterion.margin && difference.high > -verdict.criterion.margin;
}

/// Returns the restriction of a verdict that hinges on the last evaluation; empty for others.
std::string hinge_text(const Verdict& verdict) {
  return verdict.hinges_on_last ? ", at the last evaluation but not over the last fifth of the run" : "";
}

/// Returns the ends of an interval that excludes 0, without a sign: "0.64% to 2.94%".
std::string ends_text(const analysis::Difference& difference) {
  const auto [least, most] = std::minmax({std::abs(difference.low), std::abs(difference.high)});
  return number(100 * least, 3) + "% to " + number(100 * most, 3) + "%";
}

/// Returns by how much the losses differ, ", by 0.64% to 2.94%" or ", 6.8 to 11 times as high", the ends of the
/// interval; then where this holds, if that is restricted.
std::string extent_text(const Verdict& verdict) {
  const analysis::Difference& difference = verdict.difference;
  if (analysis::in_times(difference)) return ", " + analysis::range_text(difference) + hinge_text(verdict);
  return ", by " + ends_text(difference) + hinge_text(verdict);
}

/// Returns "; but averaged over the last fifth of the run, it is 0.44% to 4.19% higher" for an unresolved verdict that
/// hinges on the last evaluation; otherwise empty.
std::string late_text(const Verdict& verdict) {
  if (!verdict.late) return "";
  const std::string which = verdict.late->mean > 0 ? " higher" : " lower";
  return "; but averaged over the last fifth of the run, it is " +
         (analysis::in_times(*verdict.late) ? analysis::range_text(*verdict.late) : ends_text(*verdict.late) + which);
}

/// Returns " may be anything from 4.9% lower to 3.6% higher", the ends of the interval.
std::string possible_text(const Verdict& verdict) {
  const analysis::Difference& difference = verdict.difference;
  constexpr double extreme = 1e3;
  if (difference.is_ratio && difference.high > extreme && 1 + difference.low < 1 / extreme) return " may be anything";
  if (analysis::in_times(difference)) return " may be anything from " + analysis::range_text(difference);
  return " may be anything from " + number(100 * std::abs(difference.low), 3) + "% lower to " +
         number(100 * difference.high, 3) + "% higher";
}

/// Returns a clause if a better rate may exist for an arm, and an empty string otherwise.
std::string edge_text(const Comparison& comparison, const std::string& arm) {
  if (grid_of(comparison, arm) == comparison.grids.size()) return "";
  const analysis::RateGrid grid = whole_grid(comparison, arm);
  const std::string at = ", at the rates that were tried (";
  if (grid.best_at_edge())
    return at + "the best of " + grid.name + " is the " + (*grid.best == 0 ? "smallest)" : "largest)");
  return grid.is_coarse() ? at + "the rates of " + grid.name + " are far apart)" : "";
}

/// Returns a clause if only one learning rate of the arm that ended higher was tried; otherwise empty.
std::string only_rate_text(const Comparison& comparison, const std::string& arm) {
  const bool one = figures_of(comparison, arm).rates.tried.size() == 1;
  return one ? ", at the one learning rate of " + analysis::spoken_name(name_at_best(comparison, arm)) +
                   " that was tried"
             : "";
}

/// Returns the clause for the arm that ended higher, because the verdict may be unfair to it; for equivalent arms, that
/// for the first that has one.
std::string edge_text(const Comparison& comparison, const Verdict& verdict) {
  switch (verdict.judgement) {
    case Judgement::worse:
      return edge_text(comparison, verdict.arm);
    case Judgement::better:
      return edge_text(comparison, verdict.baseline);
    case Judgement::equivalent: {
      const std::string here = edge_text(comparison, verdict.arm), there = edge_text(comparison, verdict.baseline);
      if (!here.empty() && !there.empty())
        return ", at the rates that were tried (either arm may have a better one between or beyond them)";
      return here.empty() ? there : here;
    }
    default:
      return "";
  }
}

/// Says which arm of a verdict ended above its starting loss.
std::string untrained_text(const Report& report, const Verdict& verdict) {
  for (const std::string& name : {verdict.arm, verdict.baseline}) {
    const analysis::StartAndEnd losses =
        analysis::start_and_end(*std::ranges::find(report.arms, name, &analysis::Arm::name));
    if (losses.rose()) return analysis::untrained_text(name_at_best(report.comparison, name), losses);
  }
  return "";
}

/// Says how often an arm diverged: "with 2 of 3 seeds" or, for one of a grid without a best rate, "at every learning
/// rate that was tried (11 of 12 runs)".
std::string divergence_text(const Comparison& comparison, const std::string& name) {
  const ArmFigures& arm = figures_of(comparison, name);
  const std::size_t place = grid_of(comparison, name);
  if (place == comparison.grids.size() || comparison.grids[place].best || comparison.grids[place].arms.size() < 2)
    return "with " + diverged_seeds(arm);
  Index runs = 0, diverged = 0;
  for (const std::size_t each : comparison.grids[place].arms) {
    runs += comparison.arms[each].runs;
    diverged += comparison.arms[each].diverged;
  }
  return "at every learning rate that was tried (" + std::to_string(diverged) + " of " + html::counted(runs, "run") +
         ")";
}

/// Says which arms of a verdict diverged: "b, which diverged with 2 of 2 seeds, cannot be compared with a".
std::string diverged_text(const Comparison& comparison, const Verdict& verdict, const std::string& arm,
                          const std::string& baseline) {
  const ArmFigures &here = figures_of(comparison, verdict.arm), &there = figures_of(comparison, verdict.baseline);
  const std::string cannot = " cannot be compared with ";
  if (there.diverged == 0)
    return arm + ", which diverged " + divergence_text(comparison, verdict.arm) + "," + cannot + baseline;
  if (here.diverged == 0)
    return arm + cannot + baseline + ", which diverged " + divergence_text(comparison, verdict.baseline);
  return arm + cannot + baseline + ": the former diverged " + divergence_text(comparison, verdict.arm) +
         ", the latter " + divergence_text(comparison, verdict.baseline);
}

/// Returns the judgement without its evidence: "b ends at a lower loss than a".
std::string judgement_text(const Report& report, const Verdict& verdict) {
  const Comparison& comparison = report.comparison;
  const std::string arm = analysis::spoken_name(name_at_best(comparison, verdict.arm));
  const std::string baseline = analysis::spoken_name(name_at_best(comparison, verdict.baseline));
  const std::string within = " within ±" + percent_text(verdict.criterion.margin);
  if (verdict.neither_trained) return arm + " and " + baseline + " both ended above their starting losses";
  if (verdict.equivalent && verdict.judgement != Judgement::equivalent) {
    const std::string which = verdict.judgement == Judgement::better ? "lower" : "higher";
    return arm + " reaches the loss of " + baseline + within + ", but ends " + which + extent_text(verdict) +
           edge_text(comparison, verdict);
  }
  switch (verdict.judgement) {
    case Judgement::equivalent:
      return arm + " reaches the loss of " + baseline + within + hinge_text(verdict) + edge_text(comparison, verdict);
    case Judgement::better:
      return arm + " ends at a lower loss than " + baseline + extent_text(verdict) + edge_text(comparison, verdict) +
             only_rate_text(comparison, verdict.baseline);
    case Judgement::worse:
      return arm + " ends at a higher loss than " + baseline + extent_text(verdict) + edge_text(comparison, verdict) +
             only_rate_text(comparison, verdict.arm);
    case Judgement::not_resolved:
      return "The final losses of " + arm + " and " + baseline +
             " cannot be told apart with these seeds: the loss of " + arm + possible_text(verdict) + late_text(verdict);
    case Judgement::too_few_seeds:
      return "Too few seeds to judge " + arm + " against " + baseline;
    case Judgement::not_comparable_diverged:
      return diverged_text(comparison, verdict, arm, baseline);
    case Judgement::not_comparable_untrained:
      return untrained_text(report, verdict) + ", so " + arm + " and " + baseline + " are not compared";
    case Judgement::undefined:
      break;
  }
  return arm + " cannot be compared with " + baseline + ", whose final loss is 0";
}

/// Whether both arms of a verdict trained, so that it makes sense to say what one of them saves.
bool is_comparable(const Verdict& verdict) {
  return !verdict.neither_trained && verdict.judgement != Judgement::not_comparable_diverged &&
         verdict.judgement != Judgement::not_comparable_untrained;
}

/// Returns the mean of an arm's final losses over some seeds.
double mean_over(const analysis::Arm& arm, const std::vector<std::uint32_t>& seeds) {
  double sum = 0;
  for (const analysis::Run& run : arm.runs) {
    if (std::ranges::find(seeds, run.summary.seed) != seeds.end()) sum += run.summary.final_loss;
  }
  return sum / static_cast<double>(seeds.size());
}

/// Explains why the means of the losses, which the table shows, differ the other way than the paired ratios; empty if
/// they do not.
std::string means_text(const Report& report, const Verdict& verdict) {
  const double here = figures_of(report.comparison, verdict.arm).final_loss.mean,
               there = figures_of(report.comparison, verdict.baseline).final_loss.mean;
  if (!verdict.difference.is_ratio || !(verdict.difference.mean * (here - there) < 0)) return "";
  const Pair pair = pair_of(report, verdict);
  const double paired = mean_over(pair.arm, verdict.seeds) - mean_over(pair.baseline, verdict.seeds);
  return std::string(" Its mean loss is ") + (here > there ? "higher" : "lower") + ", because " +
         (paired * (here - there) > 0
              ? "an arithmetic mean gives more weight to high losses of individual seeds than a "
                "geometric mean does."
              : "it includes seeds that only one of the arms has.");
}

/// Returns the evidence on the losses in sentences; empty if there is none.
std::string evidence_text(const Report& report, const Verdict& verdict) {
  if (verdict.judgement == Judgement::not_comparable_untrained) return "";
  const Comparison& comparison = report.comparison;
  const bool finished =
      figures_of(comparison, verdict.arm).finished > 0 && figures_of(comparison, verdict.baseline).finished > 0;
  if (verdict.judgement == Judgement::too_few_seeds && verdict.seeds.empty() && finished)
    return "No seed finished in both arms, so their costs come from different seeds.";
  const bool one_pair =
      verdict.judgement == Judgement::too_few_seeds && !verdict.seeds.empty() && std::isfinite(verdict.difference.mean);
  if (!one_pair && !std::isfinite(verdict.difference.low)) return "";
  const bool open = verdict.judgement == Judgement::not_resolved;
  return capitalised(one_pair ? analysis::shift_text(verdict.difference) + " with the one seed that both arms have."
                              : shift_of(verdict) + (open ? "; " + need_of(verdict) : "") + "." +
                                    means_text(report, verdict));
}

/// Returns the evidence for an answer, in a part of the page that the reader can open.
std::string evidence_html(const Report& report, const Verdict& verdict) {
  std::vector<std::string> lines = {evidence_text(report, verdict)};
  const std::string accuracy = lines.front().empty() ? "" : analysis::accuracy_text(verdict);
  if (!accuracy.empty()) lines.push_back("Its " + accuracy + ".");
  if (!verdict.late_warning.empty()) lines.push_back(warning_line(verdict.late_warning));
  if (is_comparable(verdict)) {
    for (std::string& note : cost_notes(report, verdict)) lines.push_back(std::move(note));
  }
  std::erase(lines, "");
  const Comparison& comparison = report.comparison;
  return html::details("Evidence on " + analysis::spoken_name(name_at_best(comparison, verdict.arm)) + " and " +
                           analysis::spoken_name(name_at_best(comparison, verdict.baseline)),
                       "", html::list(lines));
}

std::string mood_of(const Comparison& comparison, const Verdict& verdict) {
  const Judgement judgement = verdict.judgement;
  const bool untrained = judgement == Judgement::not_comparable_untrained;
  if (verdict.neither_trained || untrained) return figures_of(comparison, verdict.arm).above_start ? " bad" : "";
  if (verdict.hinges_on_last || !edge_text(comparison, verdict).empty()) return "";
  if (may_be_within_margin(verdict) && (judgement == Judgement::better || judgement == Judgement::worse)) return "";
  if (judgement == Judgement::equivalent || judgement == Judgement::better) return " good";
  constexpr Judgement bad[] = {Judgement::worse, Judgement::not_comparable_diverged};
  return std::ranges::find(bad, judgement) != std::end(bad) ? " bad" : "";
}

/// Says how far an arm that has no verdict got, and what it sent.
std::string outcome_text(const Report& report, const std::string& name) {
  const ArmFigures& arm = figures_of(report.comparison, name);
  const std::string best = name_at_best(report.comparison, name);
  const std::string rate = best == name ? "" : " (lr " + shortest(arm.rates.rate) + ")";
  const std::string spoken = analysis::spoken_name(best) + rate;
  if (arm.diverged > 0) return spoken + " diverged with " + diverged_seeds(arm) + ".";
  if (arm.finished == 0) return spoken + " has no run that finished.";
  const analysis::StartAndEnd losses =
      analysis::start_and_end(*std::ranges::find(report.arms, name, &analysis::Arm::name));
  if (losses.rose()) return analysis::untrained_text(best + rate, losses) + ".";
  const std::string sent = sent_text(arm.bytes.mean, arm.ratio_fp32.times.mean, arm.ratio_fp16.times.mean) + ".";
  if (!std::isfinite(arm.final_loss.mean)) return spoken + ": " + sent;
  const std::string start = std::isfinite(losses.start) ? ", which was " + number(losses.start) + " at the start" : "";
  return spoken + " ends at a loss of " + interval_text(arm.final_loss) + start + "; " + sent;
}

/// Says how long an arm that has no verdict takes, and which command compares that with dense gradients; empty if no
/// run of the arm finished, or without clusters.
std::string own_times_text(const ArmFigures& arm) {
  const std::string times = arm.finished > 0 ? run_times_text(arm) : "";
  if (times.empty()) return "";
  return times + (arm.ratio_fp32.times.mean == 1 ? "." : "; 'onebit price LOG' compares it with dense gradients.");
}

}  // namespace

std::string diverged_seeds(const ArmFigures& arm) {
  return std::to_string(arm.diverged) + " of " + html::counted(arm.runs, "seed");
}

std::string warning_line(const std::string& text) {
  return "Warning: " + text + ".";
}

std::string answers_html(const Report& report) {
  const Comparison& comparison = report.comparison;
  std::string html;
  if (comparison.verdicts.empty()) {
    for (const std::string& name : best_arms(comparison)) {
      html += html::paragraph(outcome_text(report, name), "answer") +
              html::paragraph(own_times_text(figures_of(comparison, name)), "costs");
    }
  }
  for (const Verdict& verdict : comparison.verdicts) {
    html += html::paragraph(judgement_text(report, verdict) + ".", "answer" + mood_of(comparison, verdict)) +
            html::paragraph(is_comparable(verdict) ? costs_text(report, verdict) : "", "costs") +
            evidence_html(report, verdict);
  }
  return html;
}

std::vector<std::string> warnings_on(const Verdict& verdict, const Comparison& comparison) {
  const auto is_of_a_run = [&](const std::string& warning) {
    return std::ranges::any_of(comparison.arms, [&](const ArmFigures& arm) {
      return std::ranges::any_of(arm.unfinished_runs,
                                 [&](const std::string& line) { return warning == arm.name + ": " + line; });
    });
  };
  std::vector<std::string> lines;
  for (const std::string& warning : verdict.warnings) {
    if (!is_of_a_run(warning)) lines.push_back(warning_line(warning));
  }
  return lines;
}

}  // namespace onebit::experiments
