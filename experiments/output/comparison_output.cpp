#include "experiments/output/comparison_output.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <ostream>

#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/output/pricing/time_output.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;

Json rates_json(const analysis::Rates& rates) {
  return Json::array(std::vector<Json>(rates.tried.begin(), rates.tried.end()));
}

Json arm_json(const ArmFigures& arm) {
  const analysis::TargetCost& cost = arm.to_target;
  return Json::object({{"name", arm.name},
                       {"learning_rate", arm.rates.rate},
                       {"rates_tried", rates_json(arm.rates)},
                       {"runs", arm.runs},
                       {"finished", arm.finished},
                       {"diverged", arm.diverged},
                       {"failed", arm.failed},
                       {"unfinished", arm.unfinished},
                       {"unfinished_runs", Json::texts(arm.unfinished_runs)},
                       {"final_loss", interval_json(arm.final_loss)},
                       {"best_loss", interval_json(arm.best_loss)},
                       {"accuracy", interval_json(arm.accuracy)},
                       {"auc", interval_json(arm.auc)},
                       {"boundary_bytes", interval_json(arm.boundary_bytes)},
                       {"bytes_per_worker", interval_json(arm.bytes)},
                       {"ratio_fp16", interval_json(arm.ratio_fp16.times)},
                       {"ratio_fp32", interval_json(arm.ratio_fp32.times)},
                       {"seconds", seconds_json(arm.seconds)},
                       {"communication", communication_json(arm.times.front().communication)},
                       {"to_target", Json::object({{"runs", cost.runs},
                                                   {"reached", cost.reached},
                                                   {"is_bound", Json::boolean(cost.is_bound)},
                                                   {"steps", interval_json(cost.steps)},
                                                   {"samples", interval_json(cost.samples)},
                                                   {"bytes", interval_json(cost.bytes)},
                                                   {"seconds", seconds_json(cost.seconds)}})}});
}

Json difference_json(const analysis::Difference& difference) {
  return Json::object({{"mean", difference.mean},
                       {"low", difference.low},
                       {"high", difference.high},
                       {"count", difference.pairs},
                       {"is_ratio", Json::boolean(difference.is_ratio)}});
}

/// Returns a number of seeds; null for 0, which stands for none.
Json needed_json(Index seeds) {
  return seeds > 0 ? Json(seeds) : Json(std::nan(""));
}

Json verdicts_json(const std::vector<analysis::Verdict>& verdicts) {
  std::vector<Json> items;
  for (const analysis::Verdict& verdict : verdicts) {
    items.push_back(Json::object({{"baseline", verdict.baseline},
                                  {"arm", verdict.arm},
                                  {"judgement", std::string(name(verdict.judgement))},
                                  {"relative_difference", difference_json(verdict.difference)},
                                  {"deviation", verdict.difference.deviation},
                                  {"level", verdict.criterion.level_of_each()},
                                  {"comparisons", verdict.criterion.comparisons},
                                  {"margin", verdict.criterion.margin},
                                  {"equivalent", Json::boolean(verdict.equivalent)},
                                  {"seeds_needed", needed_json(verdict.seeds_needed)},
                                  {"seeds_for_equivalence", needed_json(verdict.seeds_for_equivalence)},
                                  {"p", verdict.difference.p},
                                  {"accuracy_difference", interval_json(verdict.accuracy)},
                                  {"auc_difference", interval_json(verdict.auc)},
                                  {"sentence", verdict.sentence},
                                  {"warnings", Json::texts(verdict.warnings)}}));
  }
  return Json::array(items);
}

/// Returns the word in a verdict's sentence that gives the judgement, with its colour.
Marked mark_of(analysis::Judgement judgement) {
  using analysis::Judgement;
  static const std::map<Judgement, Marked> marks = {
      {Judgement::better, {"better", Tone::good}},
      {Judgement::equivalent, {"equivalent", Tone::good}},
      {Judgement::worse, {"worse", Tone::bad}},
      {Judgement::not_resolved, {"cannot be told apart", Tone::warning}},
      {Judgement::too_few_seeds, {"too few seeds", Tone::warning}},
      {Judgement::not_comparable_diverged, {"not comparable", Tone::warning}},
      {Judgement::not_comparable_untrained, {"not comparable", Tone::warning}},
      {Judgement::undefined, {"undefined", Tone::warning}},
  };
  return marks.at(judgement);
}

/// Returns "5.66x fewer bytes per worker".
std::string bytes_difference(double baseline, double bytes) {
  if (bytes == baseline) return "the same bytes per worker";
  if (baseline == 0 || bytes == 0) return bytes_text(bytes) + " per worker against " + bytes_text(baseline);
  const bool fewer = bytes < baseline;
  return ratio_text(fewer ? baseline / bytes : bytes / baseline) + (fewer ? " fewer" : " more") + " bytes per worker";
}

/// Says how two arms differ that have only one pair of runs.
std::string difference_text(const analysis::Comparison& comparison, const analysis::Verdict& verdict) {
  const auto bytes = [&](const std::string& name) {
    return std::ranges::find(comparison.arms, name, &ArmFigures::name)->bytes.mean;
  };
  std::string text =
      verdict.arm + " against " + verdict.baseline + " with one seed: " + analysis::shift_text(verdict.difference);
  text.append(", ").append(bytes_difference(bytes(verdict.baseline), bytes(verdict.arm)));
  return text + "; --seeds N, with N above 1, gives a verdict";
}

}  // namespace

std::optional<std::size_t> lowest_loss(const std::vector<ArmFigures>& arms) {
  const auto loss = [](const ArmFigures& arm) {
    const bool whole = arm.finished == arm.runs && std::isfinite(arm.final_loss.mean);
    return whole ? arm.final_loss.mean : std::numeric_limits<double>::infinity();
  };
  const auto best = std::ranges::min_element(arms, {}, loss);
  if (arms.size() < 2 || std::isinf(loss(*best))) return std::nullopt;
  return static_cast<std::size_t>(best - arms.begin());
}

bool has_auc(const std::vector<ArmFigures>& arms) {
  return std::ranges::any_of(arms, [](const ArmFigures& arm) { return std::isfinite(arm.auc.mean); });
}

bool has_boundary(const std::vector<ArmFigures>& arms) {
  return std::ranges::any_of(arms, [](const ArmFigures& arm) { return std::isfinite(arm.boundary_bytes.mean); });
}

Table arms_table(const std::vector<ArmFigures>& arms, bool remarks) {
  const bool clicks = has_auc(arms), crosses = has_boundary(arms);
  Table table({"arm", "finished", "final loss", "bytes/worker", crosses ? "at boundary" : "vs fp16", "vs fp32",
               clicks ? "AUC" : "accuracy", "best loss"});
  const std::optional<std::size_t> best = lowest_loss(arms);
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const ArmFigures& arm = arms[a];
    table.add({arm.name + (remarks ? outcome_remark(arm) : ""),
               std::to_string(arm.finished) + "/" + std::to_string(arm.runs), interval_text(arm.final_loss),
               bytes_text(arm.bytes.mean),
               crosses ? bytes_text(arm.boundary_bytes.mean) : ratio_text(arm.ratio_fp16.times.mean),
               ratio_text(arm.ratio_fp32.times.mean), clicks ? interval_text(arm.auc) : percent_interval(arm.accuracy),
               interval_text(arm.best_loss)});
    if (a == best) table.mark_best();
  }
  return table;
}

std::string baselines_of(const std::vector<ArmFigures>& arms) {
  const std::string sent = ", divided by those sent";
  std::vector<std::string> parts;
  const auto add = [&](const std::string& column, analysis::DenseRatio ArmFigures::*ratio) {
    const auto known = [&](const ArmFigures& arm) { return std::isfinite((arm.*ratio).times.mean); };
    const auto arm = std::ranges::find_if(arms, known);
    if (arm != arms.end()) parts.push_back(column + ": bytes of " + ((*arm).*ratio).baseline + sent);
  };
  if (!has_boundary(arms)) add("vs fp16", &ArmFigures::ratio_fp16);
  add("vs fp32", &ArmFigures::ratio_fp32);
  return join(parts, "; ");
}

std::string few_evaluations_text(const analysis::Comparison& comparison) {
  constexpr Index enough = 5;
  const Index count = comparison.evaluations;
  if (count == 0 || count >= enough) return "";
  return "Runs have as few as " + std::to_string(count) + (count == 1 ? " evaluation" : " evaluations") +
         ", so curves and costs of reaching a loss are rough (with a smaller --eval.every, runs are evaluated more "
         "often).";
}

std::string target_text(const analysis::Comparison& comparison) {
  const std::string few = few_evaluations_text(comparison), more = few.empty() ? "" : " " + few;
  const std::string loss = "The loss of " + number(comparison.target, 5) + " is ";
  if (comparison.target_is_given) return loss + "the value of --target." + more;
  return loss + "the lowest loss that all finished runs at the best learning rates reached" +
         (comparison.target_skips_risen ? "; arms that ended above their starting loss do not count." : ".") + more;
}

std::string outcome_remark(const ArmFigures& arm) {
  if (arm.diverged == 0) return arm.above_start ? " (ended above its start)" : "";
  const std::string counts = std::to_string(arm.diverged) + " of " + std::to_string(arm.runs) + " diverged";
  return " (" + counts + (arm.above_start ? ", the rest ended above its start)" : ")");
}

Table targets_table(const analysis::Comparison& comparison) {
  std::vector<std::string> header = {"to a loss of " + number(comparison.target, 5), "reached", "steps", "samples",
                                     "bytes/worker"};
  for (const analysis::ClusterSeconds& time : comparison.arms.front().to_target.seconds) header.push_back(time.cluster);
  Table table(header);
  std::vector<std::string> others;
  for (const ArmFigures& arm : comparison.arms) {
    const analysis::TargetCost& cost = arm.to_target;
    if (cost.reached == 0) {
      others.push_back(arm.name);
      continue;
    }
    std::vector<std::string> costs = {interval_text(cost.steps, 3), interval_text(cost.samples, 3),
                                      with_interval(bytes_text(cost.bytes.mean), cost.bytes)};
    for (const analysis::ClusterSeconds& time : cost.seconds)
      costs.push_back(with_interval(seconds_text(time.seconds.mean), time.seconds));
    std::vector<std::string> row = {arm.name + outcome_remark(arm),
                                    std::to_string(cost.reached) + "/" + std::to_string(cost.runs)};
    for (const std::string& text : costs) row.push_back(cost.is_bound && text != "-" ? "≤ " + text : text);
    table.add(std::move(row));
  }
  if (!others.empty()) table.add({"no run reached it: " + join(others, "; ")});
  if (std::ranges::any_of(comparison.arms, [](const ArmFigures& arm) { return arm.to_target.is_bound; }))
    table.add({"≤: upper bound, the largest over the seeds; evaluations are too far apart"});
  return table;
}

void print_unfinished(const std::vector<ArmFigures>& arms, std::ostream& out) {
  for (const ArmFigures& arm : arms) {
    for (const std::string& line : arm.unfinished_runs) print_paragraph(out, arm.name + ": " + line);
  }
}

void print_figures(const analysis::Comparison& comparison, std::ostream& out) {
  if (!comparison.arms.front().seconds.empty()) {
    communication_table(comparison.arms).print(out);
    out << "\n";
    times_table(comparison.arms).print(out);
    for (const std::string& line : computing_lines(comparison.computing)) print_paragraph(out, line);
    out << "\n";
  }
  if (std::isfinite(comparison.target)) {
    targets_table(comparison).print(out);
    out << "\n";
  }
  print_paragraph(out, baselines_of(comparison.arms));
  arms_table(comparison.arms).print(out);
  print_unfinished(comparison.arms, out);
}

void print_verdicts(const analysis::Comparison& comparison, std::ostream& out) {
  for (const std::string& note : comparison.notes) print_paragraph(out, "note: " + note);
  for (const analysis::VerdictSection& section : analysis::sections_of(comparison)) {
    out << "\n";
    print_paragraph(out, section.heading + (section.heading.empty() ? "" : ": ") + section.rule);
    for (const analysis::Verdict& verdict : section.verdicts) {
      print_paragraph(out, verdict.sentence, mark_of(verdict.judgement));
      if (const std::string accuracy = analysis::accuracy_text(verdict); !accuracy.empty())
        print_paragraph(out, "  its " + accuracy);
      for (const std::string& warning : verdict.warnings) {
        print_paragraph(out, "  warning: " + warning, {"warning", Tone::warning});
      }
    }
  }
}

void print_single_seed(const analysis::Comparison& comparison, std::ostream& out) {
  out << "\n";
  for (const std::string& note : comparison.notes) print_paragraph(out, "note: " + note);
  for (const auto* verdicts : {&comparison.other_rates, &comparison.verdicts}) {
    for (const analysis::Verdict& verdict : *verdicts) {
      const bool is_pair = verdict.judgement == analysis::Judgement::too_few_seeds && !verdict.seeds.empty();
      print_paragraph(out, is_pair ? difference_text(comparison, verdict) : verdict.sentence,
                      mark_of(verdict.judgement));
    }
  }
}

Json to_json(const analysis::Comparison& comparison) {
  std::vector<Json> arms;
  for (const ArmFigures& arm : comparison.arms) arms.push_back(arm_json(arm));
  return Json::object({{"baseline", comparison.baseline},
                       {"target_loss", comparison.target},
                       {"computing", computing_json(comparison.computing)},
                       {"arms", Json::array(arms)},
                       {"verdicts", verdicts_json(comparison.verdicts)},
                       {"other_rates", verdicts_json(comparison.other_rates)},
                       {"notes", Json::texts(comparison.notes)}});
}

}  // namespace onebit::experiments
