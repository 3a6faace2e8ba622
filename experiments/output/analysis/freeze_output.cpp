#include "experiments/output/analysis/freeze_output.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <sstream>

#include "device/base/text.hpp"
#include "experiments/output/pricing/cost_output.hpp"
#include "experiments/output/screen.hpp"
#include "optim/two_stage/variance_floor.hpp"

namespace onebit::experiments {
namespace {

using analysis::FreezeVerdict;

std::string step_text(const FreezeAnswer& answer, Index step) {
  const double share = static_cast<double>(step) / static_cast<double>(answer.steps);
  return std::to_string(step) + " of " + std::to_string(answer.steps) + " steps (" + percent_text(share) + ")";
}

std::string tried_text(const FreezeAnswer& answer) {
  std::vector<std::string> words;
  for (const TriedFreeze& tried : answer.tried) {
    words.push_back(std::to_string(tried.step) + ": " +
                    (std::isinf(tried.together) ? "diverged" : percent_text(tried.together)));
  }
  return join(words, ", ");
}

/// Names the judging seeds that rule a freeze out: "the cost is 9.12% for seed 4 (margin: 1%)". A mean that is within
/// the margin is stated as well, because it seems to contradict them.
std::string ruled_out_text(const FreezeAnswer& answer) {
  const analysis::FreezeCost& cost = answer.judged.rows[0].arms[0].together;
  const double margin = answer.judged.criterion.margin;
  std::vector<std::string> seeds;
  for (std::size_t s = 0; s < cost.by_seed.size(); ++s) {
    if (!(cost.by_seed[s] > margin)) continue;
    const std::string seed = "seed " + std::to_string(answer.judged.seeds[s]);
    seeds.push_back(std::isinf(cost.by_seed[s]) ? seed + " diverged or missed the target"
                                                : "the cost is " + percent_text(cost.by_seed[s]) + " for " + seed);
  }
  std::string text = "with compression, " + join(seeds, ", ") + " (margin: " + percent_text(margin) + ")";
  if (cost.interval.mean > margin || !std::isfinite(cost.interval.mean)) return text;
  const double mean = cost.interval.mean;
  if (mean < 0) return text.append(", although the mean over the seeds is a gain of ").append(percent_text(-mean));
  return text.append(", although the mean cost over the seeds is ").append(percent_text(mean));
}

/// Whether a freeze step was chosen, and judged to cost too much.
bool costs_too_much(const FreezeAnswer& answer) {
  return answer.freeze_step > 0 && answer.judged.rows[0].arms[0].together.verdict == FreezeVerdict::costs;
}

/// Returns the first line: what to do.
std::string headline(const FreezeAnswer& answer) {
  if (answer.freeze_step == 0) {
    const analysis::FreezeRow& row = answer.judged.rows[0];
    const bool codec = row.freeze.by_seed[0] <= answer.judged.criterion.margin;
    return "no freeze step was found: with seed " + std::to_string(answer.choosing) +
           ", the compressed run costs more than half of the margin at every step that was tried" +
           (codec ? "; the cost is due to the codec, not to the freeze" : "");
  }
  const FreezeVerdict verdict = answer.judged.rows[0].arms[0].together.verdict;
  const std::string step = step_text(answer, answer.freeze_step);
  switch (verdict) {
    case FreezeVerdict::costs:
      return "freezing after " + step + " costs too much: " + ruled_out_text(answer);
    case FreezeVerdict::unclear:
      return "undecided: a freeze after " + step + " needs more seeds to be judged";
    default:
      return "freeze after " + step + ": " + answer.option;
  }
}

void print_costs(const FreezeAnswer& answer, std::ostream& out) {
  const analysis::FreezeRow& row = answer.judged.rows[0];
  Table table({"at " + row.candidate, "cost", "verdict"}, 3);  // a narrow terminal wraps texts, and drops none
  table.add({"the freeze alone", cost_text(row.freeze), verdict_text(row.freeze)});
  for (std::size_t a = 0; a < row.arms.size(); ++a) {
    const std::string arm = answer.judged.arms[a];
    table.add({"compression adds (" + arm + ")", cost_text(row.arms[a].compression), "-"});
    table.add({"both together (" + arm + ")", cost_text(row.arms[a].together), verdict_text(row.arms[a].together)});
  }
  table.print(out);
}

void print_savings(const FreezeAnswer& answer, std::ostream& out) {
  if (!(answer.ratio_fp16 > 0)) return;
  const bool fewer = answer.ratio_fp16 > 1;
  out << "\nbytes: "
      << (fewer ? ratio_text(answer.ratio_fp16) + " fewer than dense fp16 (saves " +
                      percent_text(1 - 1 / answer.ratio_fp16) + ")"
                : "not fewer than dense fp16")
      << "\n";
  for (const SavedTime& time : answer.times) {
    const double saved = 1 - time.seconds / time.dense_seconds;
    print_paragraph(out, "time on " + time.cluster + ": a dense run takes " + seconds_text(time.dense_seconds) +
                             ", a compressed one " + seconds_text(time.seconds) + " (" +
                             (saved > 0 ? percent_text(saved) + " less)"
                                        : percent_text(-saved) + " more), so compression does not pay there"));
  }
}

/// Returns what to try if no freeze was found. A floor on the variance was already tried if the arm kFloorArm exists.
std::string advice_text(const FreezeAnswer& answer) {
  const std::string others =
      "a larger --optimizer.eps, or --codec int8 (the freeze itself was judged with only one seed; 'onebit analyze "
      "--validate' tries steps of your choice)";
  const std::vector<std::string>& arms = answer.judged.arms;
  const auto floor = std::ranges::find(arms, kFloorArm);
  if (floor == arms.end()) return "next: try " + others;
  const auto arm = static_cast<std::size_t>(floor - arms.begin());
  const double cost = answer.judged.rows[0].arms[arm].together.by_seed[0];
  const std::string option = std::string("--optimizer.variance-floor ") + optim::kFloorToTry;
  if (cost <= answer.judged.criterion.margin / 2)  // the largest cost at which the choosing seed accepts a freeze
    return "next: run 'onebit freeze' again with " + option + "; the compressed run then costs " + percent_text(cost) +
           " at this step";
  const std::string left =
      std::isfinite(cost) ? "costs " + percent_text(cost) + " at this step" : "diverges at this step, too";
  return "with " + option + " the compressed run " + left + "; next: try " + others;
}

/// Returns the difference that the seeds can resolve, and what to do for a more certain answer.
std::string power_text(const FreezeAnswer& answer) {
  const analysis::FreezeCost& cost = answer.judged.rows[0].arms[0].together;
  const std::size_t seeds = answer.judged.seeds.size();
  if (answer.freeze_step == 0) return advice_text(answer);
  if (costs_too_much(answer))
    return (answer.floor_is_left ? std::string("next: --arm floor:optimizer.variance-floor=") + optim::kFloorToTry +
                                       " shows whether small denominators cause the cost, and this command tries "
                                 : std::string("next: this command tries ")) +
           "later steps:";
  if (!std::isfinite(cost.interval.half_width)) return "precision: one seed gives no interval; next: give more --seeds";
  const std::string text = "precision: " + std::to_string(seeds) + " seeds determine the cost to within ±" +
                           percent_text(cost.interval.half_width) +
                           " (margin: " + percent_text(answer.judged.criterion.margin) + "); ";
  if (cost.more_seeds == 0) return text + "for a stricter test give more --seeds or a smaller --margin";
  return text + "about " + std::to_string(cost.more_seeds) + " more --seeds would settle it";
}

/// Returns a line for each arm whose runs ended exactly like the runs of the first arm.
std::string idle_arms_text(const FreezeAnswer& answer) {
  const std::vector<analysis::CompressedCost>& arms = answer.judged.rows[0].arms;
  std::string text;
  for (std::size_t a = 1; a < arms.size(); ++a) {
    const std::vector<double>& costs = arms[a].together.by_seed;
    const bool comparable = std::ranges::all_of(costs, [](double cost) { return std::isfinite(cost); });
    if (comparable && costs == arms[0].together.by_seed)
      text += "the runs of " + answer.judged.arms[a] + " ended exactly like the runs of " + answer.judged.arms[0] +
              ": its options changed nothing\n";
  }
  return text;
}

std::string runs_text(const FreezeAnswer& answer) {
  const std::string text = std::to_string(answer.runs) + " runs in " + seconds_text(answer.wall_seconds);
  return answer.verdict_runs == 0 ? text : text + ", " + std::to_string(answer.verdict_runs) + " of them for judging";
}

}  // namespace

void print_answer(const FreezeAnswer& answer, const std::string& later, std::ostream& out) {
  print_paragraph(out, headline(answer));
  out << "\n";
  print_costs(answer, out);
  std::ostringstream after;
  after << idle_arms_text(answer);
  print_savings(answer, after);
  after << "\n" << measure_text(answer.judged.criterion, answer.reference) << "\n";
  after << "seed " << answer.choosing << " tried freezes (step: cost): " << tried_text(answer) << "\n";
  if (answer.freeze_step > 0) {
    after << "judged by " << seeds_text(answer.judged.seeds) << "; both verdicts hold jointly with 95% confidence";
    if (answer.looks > 1) after << ", corrected for " << answer.looks << " interim looks (Bonferroni)";
    after << "\n";
  }
  after << runs_text(answer) << "\n" << power_text(answer) << "\n";
  print_paragraphs(out, after.str());
  if (costs_too_much(answer)) out << printable(later) << "\n";
}

Json to_json(const FreezeAnswer& answer) {
  std::vector<Json> tried, times;
  for (const TriedFreeze& one : answer.tried) {
    tried.push_back(
        Json::object({{"step", one.step}, {"cost", std::isinf(one.together) ? Json("diverged") : Json(one.together)}}));
  }
  for (const SavedTime& time : answer.times) {
    times.push_back(
        Json::object({{"cluster", time.cluster}, {"dense_seconds", time.dense_seconds}, {"seconds", time.seconds}}));
  }
  const analysis::FreezeRow& row = answer.judged.rows[0];
  std::vector<std::pair<std::string, Json>> arms;
  for (std::size_t a = 0; a < row.arms.size(); ++a) {
    arms.emplace_back(answer.judged.arms[a], Json::object({{"compression", cost_json(row.arms[a].compression)},
                                                           {"together", cost_json(row.arms[a].together)}}));
  }
  std::vector<Json> seeds;
  for (const std::uint32_t seed : answer.judged.seeds) seeds.push_back(static_cast<Index>(seed));
  return Json::object({{"freeze_step", answer.freeze_step},
                       {"steps", answer.steps},
                       {"judged_step", answer.judged.trials.front().freeze_step},
                       {"freeze", cost_json(row.freeze)},
                       {"arms", Json::object(arms)},
                       {"ratio_fp16", answer.ratio_fp16},
                       {"times", Json::array(times)},
                       {"margin", answer.judged.criterion.margin},
                       {"reference", answer.reference},
                       {"choosing_seed", static_cast<Index>(answer.choosing)},
                       {"tried", Json::array(tried)},
                       {"judging_seeds", Json::array(seeds)},
                       {"looks", answer.looks},
                       {"runs", answer.runs},
                       {"verdict_runs", answer.verdict_runs},
                       {"wall_seconds", answer.wall_seconds}});
}

}  // namespace onebit::experiments
