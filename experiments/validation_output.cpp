#include "experiments/validation_output.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ostream>

#include "analysis/plot.hpp"
#include "experiments/interval_output.hpp"

namespace onebit::experiments {

namespace {

const char* name_of(analysis::FreezeVerdict verdict) {
  constexpr const char* names[] = {"safe", "costs", "not resolved"};
  return names[static_cast<std::size_t>(verdict)];
}

/// Of thresholds that all seeds reached and none diverged at: means of the same seeds.
analysis::Curve mean_curve(std::vector<analysis::FreezeRow> rows) {
  std::erase_if(rows, [](const auto& row) { return row.reached < row.seeds || row.diverged > 0; });
  std::ranges::sort(rows, {}, [](const analysis::FreezeRow& row) { return row.freeze_step.mean; });
  analysis::Curve curve{.label = "frozen at a threshold of the rule", .x = {}, .y = {}};
  for (const analysis::FreezeRow& row : rows) {
    curve.x.push_back(row.freeze_step.mean);
    curve.y.push_back(row.final_loss.mean);
  }
  return curve;
}

analysis::Curve dense_line(const analysis::Interval& loss, const std::vector<double>& steps) {
  if (steps.empty()) return {};
  const auto [first, last] = std::ranges::minmax(steps);
  return {.label = "dense to the end",
          .x = {first, last},
          .y = {loss.mean, loss.mean},
          .half_widths = {loss.half_width, loss.half_width}};
}

Json to_json(const analysis::FreezeTrial& trial) {
  return Json::object({{"threshold", trial.threshold},
                       {"seed", static_cast<Index>(trial.seed)},
                       {"freeze_step", trial.freeze_step},
                       {"final_loss", trial.final_loss},
                       {"ratio_fp16", trial.ratio_fp16}});
}

}  // namespace

void print_validation(const analysis::FreezeValidation& validation, std::ostream& out) {
  if (validation.rows.empty()) {
    out << "no seed came to its end: nothing is said of the thresholds\n";
    return;
  }
  Table table({"threshold", "reached", "diverged", "freeze step", "final loss", "vs dense", "p", "vs fp16", "verdict"});
  for (const analysis::FreezeRow& row : validation.rows) {
    table.add({number(row.threshold), std::to_string(row.reached) + "/" + std::to_string(row.seeds),
               std::to_string(row.diverged), interval_text(row.freeze_step, 4), interval_text(row.final_loss, 5),
               percent_interval(row.to_dense.relative), number(row.to_dense.p, 2), ratio_text(row.ratio_fp16),
               name_of(row.verdict)});
  }
  table.add({"dense", "-", "0", "-", interval_text(validation.dense_loss, 5), "-", "-",
             ratio_text(validation.dense_ratio_fp16), "-"});
  table.print(out);
  out << "safe: every seed reached it, none diverged, and its loss is not higher by " << percent_text(validation.margin)
      << " (95%, each threshold for itself); not resolved: the seeds do not tell\n";
  if (!validation.earliest) {
    const bool any = std::ranges::any_of(validation.rows,
                                         [](const auto& row) { return row.verdict == analysis::FreezeVerdict::safe; });
    out << "earliest safe freeze: none" << (any ? ", behind those that are safe stands one that costs something" : "")
        << "\n";
    return;
  }
  const analysis::FreezeRow& row = validation.rows[*validation.earliest];
  out << "earliest safe freeze: threshold " << number(row.threshold) << ", after " << number(row.freeze_step.mean)
      << " steps; dense fp16 sends " << ratio_text(row.ratio_fp16) << " the bytes\n";
}

Json to_json(const analysis::FreezeValidation& validation) {
  const auto row_json = [](const analysis::FreezeRow& row) {
    return Json::object({{"threshold", row.threshold},
                         {"seeds", row.seeds},
                         {"reached", row.reached},
                         {"diverged", row.diverged},
                         {"freeze_step", interval_json(row.freeze_step)},
                         {"final_loss", interval_json(row.final_loss)},
                         {"relative_difference", interval_json(row.to_dense.relative)},
                         {"p", row.to_dense.p},
                         {"ratio_fp16", row.ratio_fp16},
                         {"verdict", name_of(row.verdict)}});
  };
  std::vector<Json> rows;
  std::ranges::transform(validation.rows, std::back_inserter(rows), row_json);
  std::vector<Json> trials;
  for (const analysis::FreezeTrial& trial : validation.trials) trials.push_back(to_json(trial));
  Json json = Json::object({{"dense_loss", interval_json(validation.dense_loss)},
                            {"margin", validation.margin},
                            {"rows", Json::array(rows)},
                            {"trials", Json::array(trials)}});
  if (validation.earliest) json = json.with("earliest_safe", validation.rows[*validation.earliest].threshold);
  return json;
}

std::vector<std::string> draw_validation(const analysis::FreezeValidation& validation, const std::string& stem) {
  analysis::Plot plot{
      .title = "What freezing the variance early costs: runs, and the mean of each threshold; dashed: diverged",
      .x_label = "steps before the freeze",
      .y_label = "final evaluated loss",
      .curves = {}};
  plot.curves.push_back(mean_curve(validation.rows));
  plot.curves.push_back({.label = "", .x = {}, .y = {}, .dots = true});
  std::vector<analysis::Curve> diverged;
  for (const analysis::FreezeTrial& trial : validation.trials) {
    if (trial.freeze_step == 0) continue;
    const auto step = static_cast<double>(trial.freeze_step);
    plot.curves[1].x.push_back(step);
    plot.curves[1].y.push_back(trial.final_loss);
    if (std::isnan(trial.final_loss)) diverged.push_back({.label = "", .x = {}, .y = {}, .mark_x = step});
  }
  plot.curves.push_back(dense_line(validation.dense_loss, plot.curves[1].x));
  plot.curves.insert(plot.curves.end(), diverged.begin(), diverged.end());
  return analysis::draw(plot, stem);
}

}  // namespace onebit::experiments
