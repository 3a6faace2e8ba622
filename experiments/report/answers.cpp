#include "experiments/report/answers.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/log/log_options.hpp"
#include "experiments/output/interval_output.hpp"
#include "experiments/report/clusters.hpp"
#include "experiments/report/html.hpp"
#include "optim/read_options.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;
using analysis::Comparison;
using analysis::Judgement;
using analysis::Verdict;

/// Returns "final loss 8.7% lower (97.5% interval -18.9% to 1.5%, so that both hold together with 95% confidence; mean
/// ratio over 3 paired seeds)".
std::string shift_of(const Verdict& verdict) {
  const analysis::Criterion& criterion = verdict.criterion;
  std::string text = analysis::shift_text(verdict.difference) + " (";
  text.append(analysis::level_text(criterion.level_of_each())).append(" interval ");
  text.append(analysis::range_text(verdict.difference));
  if (criterion.comparisons > 1) {
    const std::string all = criterion.comparisons == 2 ? "both" : "all " + std::to_string(criterion.comparisons);
    text +=
        ", so that " + all + " comparisons hold together with " + analysis::level_text(criterion.level) + " confidence";
  }
  text += verdict.difference.is_ratio ? "; mean ratio over " : "; mean over ";
  return text.append(html::counted(verdict.difference.pairs, "paired seed")).append(")");
}

/// Returns for an unresolved verdict how many seeds agree with the mean, and how many would be needed.
std::string need_of(const Verdict& verdict) {
  const analysis::Difference& difference = verdict.difference;
  const std::string some = std::to_string(difference.agreeing) + " of the " + html::counted(difference.pairs, "seed");
  const std::string seeds = difference.agreeing == difference.pairs ? "every seed" : some;
  return (difference.relative.mean < 0 ? "lower with " : "higher with ") + seeds + "; " + analysis::need_text(verdict);
}

/// Whether the interval of a difference reaches into the margin within which losses count as the same.
bool may_be_within_margin(const Verdict& verdict) {
  const analysis::Interval& relative = verdict.difference.relative;
  return std::abs(relative.mean) - relative.half_width < verdict.criterion.margin;
}

/// Returns by how much, where that may be within the margin: ", by 0.64% to 2.94%".
std::string reservation(const Verdict& verdict) {
  const analysis::Interval& relative = verdict.difference.relative;
  if (!may_be_within_margin(verdict)) return "";
  const double least = std::abs(relative.mean) - relative.half_width,
               most = std::abs(relative.mean) + relative.half_width;
  return ", by " + percent_text(least) + " to " + percent_text(most);
}

/// Returns the judgement without its evidence: "b ends at a lower loss than a".
std::string judgement_text(const Comparison& comparison, const Verdict& verdict) {
  const std::string arm = name_at_best(comparison, verdict.arm), baseline = name_at_best(comparison, verdict.baseline);
  switch (verdict.judgement) {
    case Judgement::equivalent:
      return arm + " reaches the loss of " + baseline + " within ±" + percent_text(verdict.criterion.margin);
    case Judgement::better:
      return arm + " ends at a lower loss than " + baseline + reservation(verdict);
    case Judgement::worse:
      return arm + " ends at a higher loss than " + baseline + reservation(verdict);
    case Judgement::not_resolved:
      return "These seeds cannot tell the final loss of " + arm + " from that of " + baseline;
    case Judgement::too_few_seeds:
      return "Too few seeds to judge " + arm + " against " + baseline;
    case Judgement::not_comparable_diverged:
      return arm + " cannot be compared with " + baseline + ", because runs diverged";
    case Judgement::not_comparable_untrained:
      return arm + " cannot be compared with " + baseline + ", because one of them ended above its starting loss";
    case Judgement::undefined:
      break;
  }
  return arm + " cannot be compared with " + baseline + ", whose final loss is 0";
}

/// Returns the evidence in a sentence; empty where there is none.
std::string evidence_text(const Verdict& verdict) {
  if (verdict.judgement == Judgement::not_comparable_untrained) return "";
  const bool one_pair = verdict.judgement == Judgement::too_few_seeds && !verdict.seeds.empty() &&
                        std::isfinite(verdict.difference.relative.mean);
  if (!one_pair && !std::isfinite(verdict.difference.relative.half_width)) return "";
  const bool open = verdict.judgement == Judgement::not_resolved;
  std::string text = one_pair ? analysis::shift_text(verdict.difference) + " with the one seed that both have."
                              : shift_of(verdict) + (open ? "; " + need_of(verdict) : "") + ".";
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  const std::string accuracy = analysis::accuracy_text(verdict);
  return accuracy.empty() ? text : text + " Its " + accuracy + ".";
}

/// What the baseline takes, as a multiple of what the arm takes; NaN where that is not known.
struct Savings {
  double bytes = std::numeric_limits<double>::quiet_NaN(), seconds = bytes;
};

const analysis::Arm& arm_called(const Report& report, const std::string& name) {
  return *std::ranges::find(report.arms, name, &analysis::Arm::name);
}

/// Returns " on eth1", the first cluster; empty where there is none.
std::string on_first_cluster(const ArmFigures& arm) {
  return arm.seconds.empty() ? "" : " on " + arm.seconds.front().cluster;
}

double first_mean(const std::vector<analysis::ClusterSeconds>& seconds) {
  return seconds.empty() ? std::numeric_limits<double>::quiet_NaN() : seconds.front().seconds.mean;
}

Savings savings_of_run(const ArmFigures& arm, const ArmFigures& baseline) {
  const double bytes = baseline.bytes.mean == arm.bytes.mean ? 1 : baseline.bytes.mean / arm.bytes.mean;
  return {bytes, first_mean(baseline.seconds) / first_mean(arm.seconds)};
}

/// The savings up to the target; NaN unless all runs reached it.
Savings savings_to_target(const ArmFigures& arm, const ArmFigures& baseline) {
  const analysis::TargetCost &here = arm.to_target, &there = baseline.to_target;
  return {there.bytes.mean / here.bytes.mean, first_mean(there.seconds) / first_mean(here.seconds)};
}

/// Returns what is sent and how long it takes, in words; empty where that hardly differs.
std::string savings_text(const Savings& savings, const std::string& on, const std::string& why) {
  constexpr double visible = 0.005;
  std::vector<std::string> parts;
  const auto add = [&](double ratio, const std::string& above, const std::string& below) {
    if (!std::isfinite(ratio) || ratio <= 0 || std::abs(ratio - 1) < visible) return;
    parts.push_back(ratio > 1 ? above : below);
    parts.back().replace(parts.back().find('#'), 1, number(ratio > 1 ? ratio : 1 / ratio, 3));
  };
  if (savings.bytes == 1) parts.emplace_back("sends the same number of bytes");
  add(savings.bytes, "sends # times fewer bytes", "sends # times more bytes");
  add(savings.seconds, "is an estimated # times as fast" + on, "takes an estimated # times as long" + on + why);
  return enumerated(parts);
}

/// Returns ", but takes 1.51 times as long on eth10", naming the first cluster on which the arm is faster where it is
/// slower on the first of all, or slower where it is faster; empty where there is none.
std::string elsewhere_text(const ArmFigures& arm, const ArmFigures& baseline) {
  const auto savings = [&](std::size_t c) { return baseline.seconds[c].seconds.mean / arm.seconds[c].seconds.mean; };
  for (std::size_t c = 1; c < arm.seconds.size(); ++c) {
    if (!(std::log(savings(0)) * std::log(savings(c)) < 0)) continue;
    const Savings there{std::numeric_limits<double>::quiet_NaN(), savings(c)};
    const std::string text = savings_text(there, " on " + arm.seconds[c].cluster, "");
    if (!text.empty()) return ", but " + text;
  }
  return "";
}

/// Returns "In the same 300 steps it", or "It" where not all runs of both arms that finished took as many steps.
std::string in_same_steps(const Report& report, const Verdict& verdict) {
  std::set<Index> steps;
  for (const std::string& name : {verdict.arm, verdict.baseline}) {
    for (const analysis::Run& run : arm_called(report, name).runs) {
      if (outcome_of(run) == analysis::Outcome::finished) steps.insert(run.summary.steps);
    }
  }
  return steps.size() == 1 ? "In the same " + std::to_string(*steps.begin()) + " steps it" : "It";
}

/// Returns a sentence on the bytes of a verdict's arm and its time on the first cluster, compared with its baseline;
/// empty where they hardly differ.
std::string costs_text(const Report& report, const Verdict& verdict) {
  const Comparison& comparison = report.comparison;
  const ArmFigures &baseline = figures_of(comparison, verdict.baseline), &arm = figures_of(comparison, verdict.arm);
  const bool sends_less = arm.bytes.mean < baseline.bytes.mean;
  const std::string grown = sends_less && !arm.seconds.empty() ? grown_part(arm, baseline) : "";
  const std::string costs =
      savings_text(savings_of_run(arm, baseline), on_first_cluster(arm), grown.empty() ? "" : " (" + grown + ")");
  if (costs.empty()) return "";
  return " " + in_same_steps(report, verdict) + " " + costs + elsewhere_text(arm, baseline) + ".";
}

/// Returns a sentence on the costs of reaching the target; empty where the savings are much like those of the whole
/// run.
std::string target_costs_text(const Comparison& comparison, const Verdict& verdict) {
  constexpr double alike = 1.25;
  const ArmFigures &baseline = figures_of(comparison, verdict.baseline), &arm = figures_of(comparison, verdict.arm);
  const Savings run = savings_of_run(arm, baseline), target = savings_to_target(arm, baseline);
  const auto differ = [&](double a, double b) { return std::max(a / b, b / a) > alike; };
  if (!differ(run.bytes, target.bytes) && !differ(run.seconds, target.seconds)) return "";
  const std::string costs = savings_text(target, on_first_cluster(arm), "");
  return costs.empty() ? "" : " To reach a loss of " + number(comparison.target, 4) + " it " + costs + ".";
}

std::string mood_of(const Verdict& verdict) {
  const Judgement judgement = verdict.judgement;
  if (!reservation(verdict).empty() && (judgement == Judgement::better || judgement == Judgement::worse)) return "";
  if (judgement == Judgement::equivalent || judgement == Judgement::better) return " good";
  constexpr Judgement bad[] = {Judgement::worse, Judgement::not_comparable_diverged,
                               Judgement::not_comparable_untrained};
  return std::ranges::find(bad, judgement) != std::end(bad) ? " bad" : "";
}

bool is_slower_somewhere(const ArmFigures& arm, const ArmFigures& baseline) {
  for (std::size_t c = 0; c < arm.seconds.size(); ++c) {
    if (arm.seconds[c].seconds.mean > baseline.seconds[c].seconds.mean) return true;
  }
  return false;
}

/// Says why an arm sends more messages than its baseline, if they cost it time: its tensors are exchanged one by one.
/// Otherwise empty.
std::string messages_text(const Report& report, const Verdict& verdict) {
  const ArmFigures &arm = figures_of(report.comparison, verdict.arm),
                   &baseline = figures_of(report.comparison, verdict.baseline);
  const sim::LogHeader& header = arm_called(report, verdict.arm).runs.front().header;
  const std::size_t tensors = header.tensors.size();
  if (arm.seconds.empty() || tensors < 2) return "";
  if (analysis::option_of(header, "optimizer.granularity") != "tensor") return "";
  if (!optim::takes_option(analysis::option_of(header, "optimizer").value_or(""), "granularity")) return "";
  if (!is_slower_somewhere(arm, baseline) || !grows_by_messages(arm, baseline)) return "";
  return " Each of its " + std::to_string(tensors) +
         " tensors is exchanged in messages of its own; where the codec allows it, --optimizer.granularity fused "
         "exchanges them as one vector (which also changes the results).";
}

}  // namespace

std::string enumerated(const std::vector<std::string>& words) {
  if (words.size() < 2) return join(words, "");
  return join({words.begin(), words.end() - 1}, ", ").append(" and ").append(words.back());
}

const ArmFigures& figures_of(const Comparison& comparison, const std::string& name) {
  return *std::ranges::find(comparison.arms, name, &ArmFigures::name);
}

std::string name_at_best(const Comparison& comparison, const std::string& arm) {
  const auto index = static_cast<std::size_t>(&figures_of(comparison, arm) - comparison.arms.data());
  const auto grid = std::ranges::find_if(comparison.grids, [&](const analysis::RateGrid& each) {
    return std::ranges::find(each.arms, index) != each.arms.end();
  });
  return grid == comparison.grids.end() ? arm : grid->name;
}

std::string answers_html(const Report& report) {
  const Comparison& comparison = report.comparison;
  std::string html;
  for (const Verdict& verdict : comparison.verdicts) {
    html += html::paragraph(judgement_text(comparison, verdict) + "." + costs_text(report, verdict),
                            "answer" + mood_of(verdict)) +
            html::paragraph(
                evidence_text(verdict) + target_costs_text(comparison, verdict) + messages_text(report, verdict),
                "evidence");
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
    if (!is_of_a_run(warning)) lines.push_back("Warning: " + warning + ".");
  }
  return lines;
}

}  // namespace onebit::experiments
