#include "experiments/output/comparison_output.hpp"

#include <cmath>
#include <ostream>

#include "experiments/output/interval_output.hpp"
#include "experiments/output/time_output.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;

Json texts_json(const std::vector<std::string>& texts) {
  return Json::array(std::vector<Json>(texts.begin(), texts.end()));
}

Json arm_json(const ArmFigures& arm) {
  const analysis::TargetCost& cost = arm.to_target;
  return Json::object({{"name", arm.name},
                       {"runs", arm.runs},
                       {"finished", arm.finished},
                       {"diverged", arm.diverged},
                       {"failed", arm.failed},
                       {"unfinished", arm.unfinished},
                       {"unfinished_runs", texts_json(arm.unfinished_runs)},
                       {"final_loss", interval_json(arm.final_loss)},
                       {"best_loss", interval_json(arm.best_loss)},
                       {"accuracy", interval_json(arm.accuracy)},
                       {"bytes_per_worker", interval_json(arm.bytes)},
                       {"ratio_fp16", interval_json(arm.ratio_fp16.times)},
                       {"ratio_fp32", interval_json(arm.ratio_fp32.times)},
                       {"seconds", seconds_json(arm.seconds)},
                       {"communication", communication_json(arm.times.front().communication)},
                       {"to_target", Json::object({{"runs", cost.runs},
                                                   {"reached", cost.reached},
                                                   {"steps", interval_json(cost.steps)},
                                                   {"samples", interval_json(cost.samples)},
                                                   {"bytes", interval_json(cost.bytes)},
                                                   {"seconds", seconds_json(cost.seconds)}})}});
}

/// Returns the number of seeds needed; null: the verdict is resolved.
Json needed_json(const analysis::Verdict& verdict) {
  return verdict.seeds_needed > 0 ? Json(verdict.seeds_needed) : Json(std::nan(""));
}

Json verdicts_json(const std::vector<analysis::Verdict>& verdicts) {
  std::vector<Json> items;
  for (const analysis::Verdict& verdict : verdicts) {
    items.push_back(Json::object({{"baseline", verdict.baseline},
                                  {"arm", verdict.arm},
                                  {"judgement", std::string(name(verdict.judgement))},
                                  {"relative_difference", interval_json(verdict.difference.relative)},
                                  {"deviation", verdict.difference.deviation},
                                  {"level", verdict.criterion.level_of_each()},
                                  {"comparisons", verdict.criterion.comparisons},
                                  {"margin", verdict.criterion.margin},
                                  {"equivalent", Json::boolean(verdict.equivalent)},
                                  {"seeds_needed", needed_json(verdict)},
                                  {"p", verdict.difference.p},
                                  {"sentence", verdict.sentence},
                                  {"warnings", texts_json(verdict.warnings)}}));
  }
  return Json::array(items);
}

}  // namespace

Table arms_table(const std::vector<ArmFigures>& arms) {
  Table table({"arm", "finished", "final loss", "best loss", "accuracy", "bytes/worker", "vs fp16", "vs fp32"});
  for (const ArmFigures& arm : arms) {
    table.add({arm.name, std::to_string(arm.finished) + "/" + std::to_string(arm.runs), interval_text(arm.final_loss),
               interval_text(arm.best_loss), percent_interval(arm.accuracy), bytes_text(arm.bytes.mean),
               ratio_text(arm.ratio_fp16.times.mean), ratio_text(arm.ratio_fp32.times.mean)});
  }
  return table;
}

std::string baselines_of(const std::vector<ArmFigures>& arms) {
  return "vs fp16: " + arms.front().ratio_fp16.baseline + "; vs fp32: " + arms.front().ratio_fp32.baseline;
}

Table targets_table(const analysis::Comparison& comparison) {
  std::vector<std::string> header = {"to a loss of " + number(comparison.target, 5), "reached", "steps", "samples",
                                     "bytes/worker"};
  for (const analysis::ClusterSeconds& time : comparison.arms.front().to_target.seconds) header.push_back(time.cluster);
  Table table(header);
  for (const ArmFigures& arm : comparison.arms) {
    const analysis::TargetCost& cost = arm.to_target;
    std::vector<std::string> row = {arm.name, std::to_string(cost.reached) + "/" + std::to_string(cost.runs),
                                    number(cost.steps.mean), number(cost.samples.mean), bytes_text(cost.bytes.mean)};
    for (const analysis::ClusterSeconds& time : cost.seconds) row.push_back(seconds_text(time.seconds.mean));
    table.add(std::move(row));
  }
  return table;
}

void print_comparison(const analysis::Comparison& comparison, std::ostream& out) {
  arms_table(comparison.arms).print(out);
  out << baselines_of(comparison.arms) << "\n";
  for (const ArmFigures& arm : comparison.arms) {
    for (const std::string& line : arm.unfinished_runs) out << arm.name << ": " << line << "\n";
  }
  out << "\n";
  if (!comparison.arms.front().seconds.empty()) {
    communication_table(comparison.arms).print(out);
    out << "\n";
    times_table(comparison.arms).print(out);
    for (const std::string& line : computing_lines(comparison.computing)) out << line << "\n";
    out << "\n";
  }
  if (std::isfinite(comparison.target)) targets_table(comparison).print(out);
  print_verdicts(comparison, out);
}

void print_verdicts(const analysis::Comparison& comparison, std::ostream& out) {
  for (const analysis::VerdictSection& section : analysis::sections_of(comparison)) {
    out << "\n" << section.heading << (section.heading.empty() ? "" : ": ") << section.rule << "\n";
    for (const analysis::Verdict& verdict : section.verdicts) {
      out << verdict.sentence << "\n";
      for (const std::string& warning : verdict.warnings) out << "  warning: " << warning << "\n";
    }
  }
  for (const std::string& note : comparison.notes) out << "note: " << note << "\n";
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
                       {"notes", texts_json(comparison.notes)}});
}

}  // namespace onebit::experiments
