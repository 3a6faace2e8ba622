#include "experiments/output/analysis/analyze_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace onebit::experiments {
namespace {

constexpr std::size_t kTensorsShown = 12;
constexpr std::size_t kRowsShown = 8;

/// Returns at most `most` of `count` indices, evenly spread, including the last.
std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  std::vector<std::size_t> indices;
  const std::size_t shown = std::min(count, most);
  for (std::size_t i = 1; i <= shown; ++i) indices.push_back(count * i / shown - 1);
  return indices;
}

/// Adds a row that says how many of `count` rows a table shows, if these are not all.
void note_spread(std::size_t count, Table& table) {
  if (count > kRowsShown) table.add({std::to_string(kRowsShown) + " of " + std::to_string(count) + " rows are shown"});
}

/// Returns the rows in which at least one ratio is known.
std::vector<std::size_t> known_rows(const analysis::VarianceView& view) {
  std::vector<std::size_t> known;
  for (std::size_t row = 0; row < view.steps.size(); ++row) {
    const auto has_ratio = [row](const analysis::StabilitySeries& series) { return !std::isnan(series.ratio[row]); };
    if (std::ranges::any_of(view.stability, has_ratio)) known.push_back(row);
  }
  return known;
}

/// Returns the last step at which the ratio that the thresholds apply to is known; 0 if there is none.
Index last_known(const analysis::VarianceView& view) {
  const std::vector<double>& ratio = rule_series(view).ratio;
  for (std::size_t i = ratio.size(); i-- > 0;) {
    if (!std::isnan(ratio[i])) return view.steps[i];
  }
  return 0;
}

/// Returns a step as text; for step 0 "never", or "not by 40" if values are known only up to step 40. end: that last
/// step; 0: values are known for the whole run.
std::string step_text(Index step, Index end) {
  if (step > 0) return std::to_string(step);
  return end > 0 ? "not by " + std::to_string(end) : "never";
}

/// Returns the last step of a stretch at or above a threshold; "-" if there was no such stretch.
std::string end_text(const analysis::Stay& stay, const analysis::VarianceView& view) {
  if (stay.until == 0) return "-";
  if (stay.until != last_known(view)) return std::to_string(stay.until);
  const Index end = cut_off(view);
  if (end == 0) return "the end";
  return std::to_string(stay.until) + (end == view.freeze_step ? " (freeze)" : " (last known)");
}

/// Says which option gives a run the lag of the view, if the run's own rule has another lag.
std::string lag_note(const analysis::VarianceView& view) {
  if (view.own_lag == 0 || view.own_lag == view.rule_lag) return "";
  return " (--freeze.lag " + std::to_string(view.rule_lag) + "; the run's own lag is " + std::to_string(view.own_lag) +
         ")";
}

}  // namespace

std::vector<NamedMeasure> measures_of(const analysis::TheoryConstants& c) {
  return {{"L along the path, largest", "path_smoothness", c.path_smoothness},
          {"L by power iteration, largest", "smoothness", c.smoothness},
          {"sigma of a worker's gradient", "noise", c.noise},
          {"zeta between workers", "heterogeneity", c.heterogeneity},
          {"delta of the workers' codec, mean", "worker_delta", c.worker_delta},
          {"delta of the servers' codec, mean", "server_delta", c.server_delta},
          {"||e|| of the workers, largest rms", "worker_error", c.worker_error},
          {"||e|| of the servers, largest", "server_error", c.server_error},
          {"smallest denominator, mean", "least_denominator", c.least_denominator}};
}

Table stability_table(const analysis::VarianceView& view) {
  std::vector<std::string> header = {"stability of the variance at step"};
  for (const analysis::StabilitySeries& series : view.stability)
    header.push_back(series.norm + (series.raw ? " raw" : "") + ", lag " + std::to_string(series.lag));
  Table table(header);
  const std::vector<std::size_t> known = known_rows(view);
  for (const std::size_t i : spread(known.size(), kRowsShown)) {
    const std::size_t row = known[i];
    std::vector<std::string> cells = {std::to_string(view.steps[row])};
    for (const analysis::StabilitySeries& series : view.stability) cells.push_back(number(series.ratio[row]));
    table.add(std::move(cells));
  }
  note_spread(known.size(), table);
  return table;
}

std::string rule_of(const analysis::VarianceView& view) {
  std::string text = "auto freezes once the bias-corrected ratio of ||v||_1, taken " + std::to_string(view.rule_lag) +
                     (view.rule_lag == 1 ? " step" : " steps") + " apart" + lag_note(view) +
                     ", has stayed at or above the threshold for " + std::to_string(view.rule_dwell) +
                     (view.rule_dwell == 1 ? " step" : " steps") +
                     "; published freezes once the raw ratio reaches the threshold; neither freezes before step " +
                     std::to_string(std::max(view.rule_lag + 1, view.rule_after));
  if (view.freeze_step > 0) text += "; the run froze its variance after step " + std::to_string(view.freeze_step);
  const Index end = cut_off(view);
  if (view.freeze_step > 0 && end != view.freeze_step) text += ", after which the ratio is known only at probed steps";
  if (end > view.freeze_step)
    text += " up to step " + std::to_string(end) + ", because later probes are not a lag apart";
  return text;
}

Table thresholds_table(const analysis::VarianceView& view) {
  Table table({"threshold", "published rule at", "first reached", "held from", "held until", "freeze step",
               "DeepSpeed freeze_step", "share of run", "papers' ratio", "training loss at freeze"});
  // After the run's freeze, ratios are known only at probed steps, so a threshold may have been reached earlier.
  const auto is_late = [&](Index step) { return view.freeze_step > 0 && step > view.freeze_step; };
  const auto at = [&](Index step) { return (is_late(step) ? "≤ " : "") + step_text(step, cut_off(view)); };
  for (const analysis::Threshold& row : view.thresholds) {
    const bool reached = row.freeze_step > 0;
    const std::string most = is_late(row.freeze_step) ? "≤ " : "", least = is_late(row.freeze_step) ? "≥ " : "";
    table.add({number(row.threshold), at(row.published), at(row.stay.first), at(row.stay.from),
               end_text(row.stay, view), at(row.freeze_step), reached ? most + std::to_string(row.deepspeed_step) : "-",
               reached ? most + percent_text(row.share) : "-", least + ratio_text(row.volume_ratio),
               number(row.loss_then)});
  }
  return table;
}

Table tensors_table(const analysis::VarianceView& view) {
  std::vector<analysis::TensorStability> tensors = view.tensors;
  const auto late = [](const analysis::TensorStability& tensor) {
    return tensor.stable_step > 0 ? tensor.stable_step : std::numeric_limits<Index>::max();
  };
  std::ranges::stable_sort(tensors, [&](const auto& a, const auto& b) {
    return late(a) != late(b) ? late(a) > late(b) : a.last_ratio < b.last_ratio;
  });
  Table table({"tensor, latest to stabilise first", "elements",
               "stays at " + number(view.tensor_threshold) + " or above from", "last ratio", "shadow / frozen"});
  for (std::size_t i = 0; i < std::min(tensors.size(), kTensorsShown); ++i) {
    const analysis::TensorStability& tensor = tensors[i];
    table.add({tensor.name, std::to_string(tensor.size), step_text(tensor.stable_step, view.freeze_step),
               number(tensor.last_ratio), number(tensor.drift)});
  }
  if (tensors.size() > kTensorsShown) {
    const bool stable = tensors[kTensorsShown].stable_step > 0;
    table.add({std::to_string(tensors.size() - kTensorsShown) +
               (stable ? " more, which became stable earlier" : " more, with higher last ratios")});
  }
  return table;
}

Table drift_table(const analysis::Drift& drift) {
  Table table({"since the freeze, at step", "||shadow|| / ||frozen||", "typical change of the rate", "moved"});
  for (const std::size_t row : spread(drift.steps.size(), kRowsShown)) {
    table.add({std::to_string(drift.steps[row]), number(drift.norm_ratio[row]),
               "x " + number(std::exp(drift.rate_drift[row])), percent_text(drift.moved_share[row])});
  }
  note_spread(drift.steps.size(), table);
  return table;
}

Table steps_table(const analysis::StepSizes& sizes) {
  std::vector<const analysis::TensorSteps*> tensors;
  for (const analysis::TensorSteps& tensor : sizes.tensors) tensors.push_back(&tensor);
  const std::size_t row = sizes.freeze_row;
  std::ranges::stable_sort(tensors, [&](const auto* a, const auto* b) { return a->longest[row] > b->longest[row]; });
  Table table(
      {"length of a 1-bit step at step " + std::to_string(sizes.steps[row]) + ", in multiples of the learning rate",
       "elements", "longest", "99th percentile", "median"});
  for (std::size_t i = 0; i < std::min(tensors.size(), kTensorsShown); ++i) {
    const analysis::TensorSteps& tensor = *tensors[i];
    table.add({tensor.name, std::to_string(tensor.size), number(tensor.longest[row]), number(tensor.high[row]),
               number(tensor.typical[row])});
  }
  if (tensors.size() > kTensorsShown)
    table.add({std::to_string(tensors.size() - kTensorsShown) + " more, with shorter steps"});
  return table;
}

Table compression_table(const analysis::CompressionSeries& series) {
  Table table(
      {"since the freeze, at step", "delta of the workers' codec", "delta of the servers' codec", "||e|| / ||m||"});
  for (const std::size_t row : spread(series.steps.size(), kRowsShown)) {
    table.add({std::to_string(series.steps[row]), number(series.worker_delta[row]), number(series.server_delta[row]),
               number(series.error_share[row])});
  }
  note_spread(series.steps.size(), table);
  return table;
}

Table constants_table(const analysis::TheoryConstants& constants) {
  Table table({"measured", "value", "minimum", "maximum", "known"});
  std::vector<std::string> missing;
  const auto add = [&](const std::string& name, const analysis::Measured& measured) {
    if (std::isnan(measured.value) && std::isnan(measured.known)) {
      missing.push_back(name);
    } else {
      table.add({name, number(measured.value), number(measured.least), number(measured.most), number(measured.known)});
    }
  };
  for (const NamedMeasure& row : measures_of(constants)) add(row.name, row.measured);
  add("epsilon, twice the largest error", {.value = constants.epsilon});
  if (!missing.empty()) table.add({"not measured: " + join(missing, "; ")});
  return table;
}

Table bound_table(const std::vector<analysis::BoundRow>& rows) {
  Table table({"bound of 1-bit Adam to step", "factor", "left", "right", "start", "errors", "noise", "momentum"});
  for (const std::size_t i : spread(rows.size(), kRowsShown)) {
    const analysis::BoundRow& row = rows[i];
    table.add({std::to_string(row.step), number(row.factor), row.factor > 0 ? number(row.left) : "-",
               number(row.right()), number(row.start), number(row.errors), number(row.noise), number(row.momentum)});
  }
  note_spread(rows.size(), table);
  return table;
}

std::vector<std::string> theory_lines(const analysis::TheoryView& view) {
  std::vector<std::string> lines;
  const bool holds = !view.bound.empty() && view.bound.back().factor > 0;
  const auto is_negative = [](const analysis::BoundRow& row) { return row.factor > 0 && row.left < 0; };
  if (!view.bound.empty()) {
    if (view.bound.back().factor <= 0)
      lines.emplace_back("the factor is not positive, so the theorem gives no bound at this learning rate");
    if (std::isnan(view.bound.back().factor)) lines.emplace_back("the factor is unknown, because no L was measured");
    lines.push_back(
        std::string("the bound's constants 6, 2, 2 and its powers of v are uncertain, because they come from secondary "
                    "sources") +
        (holds ? ": compare how the two sides grow, not their values" : ""));
  }
  if (std::ranges::any_of(view.bound, is_negative))
    lines.emplace_back("the left side is estimated from two independent gradients, so noise can make it negative");
  const analysis::Telescoping& telescoping = view.telescoping;
  if (telescoping.probes > 0) {
    lines.push_back("telescoping of errors: at most " + number(telescoping.worst, 2) +
                    " of the input of an exchange is missing (step " + std::to_string(telescoping.step) + ", " +
                    std::to_string(telescoping.probes) + " probes)");
  }
  if (std::isfinite(view.error.bound)) {
    lines.push_back("error feedback: E||e||^2 " + number(view.error.error_square) + ", bound 4(1-delta)G^2/delta^2 " +
                    number(view.error.bound) + " (delta " + number(view.error.delta) + ", G^2 " +
                    number(view.error.input_square) + ")");
  }
  return lines;
}

}  // namespace onebit::experiments
