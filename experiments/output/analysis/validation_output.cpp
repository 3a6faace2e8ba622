#include "experiments/output/analysis/validation_output.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ostream>
#include <sstream>

#include "analysis/pictures/plot.hpp"
#include "device/base/text.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/output/pricing/cost_output.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

using analysis::FreezeCost;
using analysis::FreezeRow;
using analysis::FreezeValidation;

void print_rows(const FreezeValidation& validation, std::ostream& out) {
  Table table({"freeze at", "reached", "step", "freeze cost", "arm", "compression cost", "together", "vs fp16"});
  for (const FreezeRow& row : validation.rows) {
    const std::string reached = std::to_string(row.reached) + "/" + std::to_string(validation.seeds.size());
    if (row.reached == 0) {
      table.add({row.candidate, reached});
      continue;
    }
    for (std::size_t arm = 0; arm < row.arms.size(); ++arm) {
      const analysis::CompressedCost& cost = row.arms[arm];
      const bool first = arm == 0;
      table.add({first ? row.candidate : "", first ? reached : "", first ? interval_text(row.freeze_step, 4) : "",
                 first ? cost_text(row.freeze) : "", validation.arms[arm], cost_text(cost.compression),
                 cost_text(cost.together), ratio_text(cost.ratio_fp16)});
    }
  }
  table.add({"dense", "", "", "", "", "", "", ratio_text(validation.dense_ratio_fp16)});
  table.print(out);
}

void print_verdicts(const FreezeValidation& validation, std::ostream& out) {
  std::size_t width = std::string("frozen").size();
  for (const std::string& arm : validation.arms) width = std::max(width, arm.size());
  const auto line = [&](const std::string& arm, const FreezeCost& cost) {
    print_paragraph(out, "  " + arm + std::string(width - arm.size() + 2, ' ') + verdict_text(cost));
  };
  for (const FreezeRow& row : validation.rows) {
    if (row.reached == 0) continue;
    out << "freeze at " << row.candidate << "\n";
    line("frozen", row.freeze);
    for (std::size_t arm = 0; arm < row.arms.size(); ++arm) line(validation.arms[arm], row.arms[arm].together);
  }
}

const analysis::DenseTrial* dense_of(const FreezeValidation& validation, std::uint32_t seed) {
  const auto found = std::ranges::find(validation.dense, seed, &analysis::DenseTrial::seed);
  return found == validation.dense.end() ? nullptr : &*found;
}

void print_seeds(const FreezeValidation& validation, std::ostream& out) {
  std::vector<std::string> header = {"freeze at", "seed", "step", "dense", "frozen"};
  header.insert(header.end(), validation.arms.begin(), validation.arms.end());
  Table table(header);
  for (std::size_t candidate = 0; candidate < validation.rows.size(); ++candidate) {
    for (const analysis::FreezeTrial& trial : validation.trials) {
      const analysis::DenseTrial* dense = dense_of(validation, trial.seed);
      if (trial.candidate != candidate || dense == nullptr) continue;
      const auto loss = [](const analysis::FreezeOutcome& outcome) {
        return std::isnan(outcome.loss) ? std::string("diverged") : number(outcome.loss, 5);
      };
      std::vector<std::string> cells = {validation.rows[candidate].candidate, std::to_string(trial.seed),
                                        std::to_string(trial.freeze_step), loss(dense->outcome), loss(trial.frozen)};
      for (const analysis::FreezeOutcome& outcome : trial.compressed) cells.push_back(loss(outcome));
      table.add(std::move(cells));
    }
  }
  table.print(out);
}

void print_choice(const FreezeValidation& validation, std::ostream& out) {
  const std::string by = seeds_text(validation.choosing);
  if (!validation.choice) {
    out << "no candidate was chosen: none is safe for " << by << "\n";
    return;
  }
  const FreezeRow& row = validation.rows[validation.choice->row];
  std::ostringstream text;
  text << "chosen by " << by << ": freeze at " << row.candidate << "; judged by " << seeds_text(validation.judging)
       << " (mean freeze step " << number(row.freeze_step.mean) << "): frozen "
       << verdict_text(validation.choice->freeze) << " (" << cost_text(validation.choice->freeze) << "), "
       << validation.arms.front() << " " << verdict_text(validation.choice->together) << " ("
       << cost_text(validation.choice->together) << ", 97.5% intervals)";
  print_paragraph(out, text.str());
}

Json outcome_json(const analysis::FreezeOutcome& outcome) {
  return Json::object({{"loss", outcome.loss},
                       {"accuracy", outcome.accuracy},
                       {"steps", outcome.steps},
                       {"ratio_fp16", outcome.ratio_fp16}});
}

Json row_json(const FreezeRow& row, const std::vector<std::string>& arms) {
  std::vector<std::pair<std::string, Json>> costs;
  for (std::size_t arm = 0; arm < arms.size(); ++arm) {
    costs.emplace_back(arms[arm], Json::object({{"compression", cost_json(row.arms[arm].compression)},
                                                {"together", cost_json(row.arms[arm].together)},
                                                {"ratio_fp16", row.arms[arm].ratio_fp16}}));
  }
  return Json::object({{"candidate", row.candidate},
                       {"reached", row.reached},
                       {"freeze_step", interval_json(row.freeze_step)},
                       {"freeze", cost_json(row.freeze)},
                       {"arms", Json::object(costs)}});
}

Json trial_json(const analysis::FreezeTrial& trial, const FreezeValidation& validation) {
  Json json = Json::object({{"candidate", validation.rows[trial.candidate].candidate},
                            {"seed", static_cast<Index>(trial.seed)},
                            {"freeze_step", trial.freeze_step},
                            {"frozen", outcome_json(trial.frozen)}});
  for (std::size_t arm = 0; arm < validation.arms.size(); ++arm)
    json = json.with(validation.arms[arm], outcome_json(trial.compressed[arm]));
  return json;
}

}  // namespace

void print_validation(const FreezeValidation& validation, const std::string& reference, std::ostream& out) {
  if (validation.dense.size() < validation.choosing.size() + 2) {
    out << "too few seeds finished: no freeze step can be recommended\n";
    return;
  }
  print_seeds(validation, out);
  out << "\n";
  print_paragraph(out, measure_text(validation.criterion, reference) + "; means over " + seeds_text(validation.seeds));
  print_rows(validation, out);
  out << "\n";
  print_paragraph(out, "safe: the cost of every seed and the interval stay within " +
                           percent_text(validation.criterion.margin) + "; the " +
                           std::to_string(validation.comparisons) + " verdicts hold jointly with " +
                           percent_text(validation.criterion.level) + " confidence (Bonferroni)");
  print_verdicts(validation, out);
  out << "\n";
  print_choice(validation, out);
}

Json to_json(const FreezeValidation& validation) {
  std::vector<Json> rows, trials, dense;
  for (const FreezeRow& row : validation.rows) rows.push_back(row_json(row, validation.arms));
  for (const analysis::FreezeTrial& trial : validation.trials) trials.push_back(trial_json(trial, validation));
  for (const analysis::DenseTrial& trial : validation.dense)
    dense.push_back(outcome_json(trial.outcome).with("seed", static_cast<Index>(trial.seed)));
  const auto seeds = [](const std::vector<std::uint32_t>& list) {
    std::vector<Json> items;
    for (const std::uint32_t seed : list) items.push_back(static_cast<Index>(seed));
    return Json::array(items);
  };
  Json json = Json::object({{"margin", validation.criterion.margin},
                            {"comparisons", validation.comparisons},
                            {"choosing_seeds", seeds(validation.choosing)},
                            {"seeds", seeds(validation.seeds)},
                            {"judging_seeds", seeds(validation.judging)},
                            {"dense", Json::array(dense)},
                            {"rows", Json::array(rows)},
                            {"trials", Json::array(trials)}});
  if (!validation.choice) return json;
  return json.with("choice", Json::object({{"candidate", validation.rows[validation.choice->row].candidate},
                                           {"freeze", cost_json(validation.choice->freeze)},
                                           {"together", cost_json(validation.choice->together)}}));
}

std::vector<std::string> draw_validation(const FreezeValidation& validation, const std::string& stem) {
  analysis::Plot plot{.title = "Final loss when the variance is frozen, without and with compression; dashed: diverged",
                      .x_label = "steps before the freeze",
                      .y_label = "final evaluated loss",
                      .curves = {}};
  plot.curves.push_back({.label = "never frozen", .x = {}, .y = {}, .dots = true});
  plot.curves.push_back({.label = "frozen", .x = {}, .y = {}, .dots = true});
  for (const std::string& arm : validation.arms) plot.curves.push_back({.label = arm, .x = {}, .y = {}, .dots = true});
  std::vector<analysis::Curve> diverged;
  const auto add = [&](std::size_t curve, double step, double loss) {
    plot.curves[curve].x.push_back(step);
    plot.curves[curve].y.push_back(loss);
    if (std::isnan(loss)) diverged.push_back({.label = "", .x = {}, .y = {}, .mark_x = step});
  };
  for (const analysis::FreezeTrial& trial : validation.trials) {
    const auto step = static_cast<double>(trial.freeze_step);
    if (const analysis::DenseTrial* dense = dense_of(validation, trial.seed)) add(0, step, dense->outcome.loss);
    add(1, step, trial.frozen.loss);
    for (std::size_t arm = 0; arm < trial.compressed.size(); ++arm) add(2 + arm, step, trial.compressed[arm].loss);
  }
  plot.curves.insert(plot.curves.end(), diverged.begin(), diverged.end());
  return analysis::draw(plot, stem);
}

}  // namespace onebit::experiments
