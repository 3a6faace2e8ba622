#include "experiments/report/figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "experiments/report/chart.hpp"
#include "experiments/report/grids.hpp"
#include "experiments/report/varied.hpp"

namespace onebit::experiments {
namespace {

analysis::Curve curve_of(const analysis::ArmFigures& arm, const analysis::LossCurve& curve) {
  const std::string diverged = arm.diverged > 0 ? " (" + std::to_string(arm.diverged) + " diverged)" : "";
  analysis::Curve result{.label = arm.name + diverged, .x = {}, .y = {}, .sets_range = sets_range(arm)};
  result.crossed = ends_diverged(arm);
  for (const analysis::LossCurve::Point& point : curve.points) {
    result.x.push_back(point.x);
    result.y.push_back(point.loss.mean);
    result.half_widths.push_back(point.loss.half_width);
  }
  return result;
}

void add_sentence(const std::string& sentence, Figure& figure) {
  figure.caption += (figure.caption.empty() ? "" : " ") + sentence;
}

/// Returns a figure with captions and labels, but without curves.
Figure empty_loss_figure(const analysis::LossCurve& curve, bool seeds) {
  Figure figure{.name = "loss-steps",
                .caption = seeds ? "Mean over the seeds; the band is the 95% interval (Student's t)." : ""};
  figure.plot = {.title = "Evaluated loss",
                 .x_label = axis_label(curve),
                 .y_label = "evaluated loss",
                 .legend = "tmargin right vertical",
                 .curves = {}};
  switch (curve.axis) {
    case analysis::Axis::steps:
      break;
    case analysis::Axis::samples:
      figure.name = "loss-samples";
      break;
    case analysis::Axis::bytes:
      figure.name = "loss-bytes";
      add_sentence("The byte axis is logarithmic, so evaluations at 0 bytes are omitted.", figure);
      figure.plot.log_x = true;
      break;
    case analysis::Axis::seconds:
      figure.name = "loss-time-" + curve.cluster;
      figure.plot.x_label += ", in seconds";
      break;
  }
  return figure;
}

/// Whether a step takes more samples in some arms than in others.
bool batches_differ(const analysis::Comparison& comparison) {
  std::set<double> samples;
  for (const analysis::ArmFigures& arm : comparison.arms) {
    const auto& steps = arm.curves[0].points;
    if (!steps.empty() && steps.back().x > 0) samples.insert(arm.curves[1].points.back().x / steps.back().x);
  }
  return samples.size() > 1;
}

/// Names the arms that have no curve, because they froze before they had a ratio; empty if all have one.
std::string curveless_text(std::span<const std::string> arms, std::span<const analysis::VarianceView> views) {
  std::vector<std::string> names;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (std::ranges::none_of(rule_series(views[a]).ratio, [](double ratio) { return std::isfinite(ratio); }))
      names.push_back(arms[a]);
  }
  if (names.empty()) return "";
  return " No curve for " + enumerated(names) +
         ": no ratio is known, because there are too few steps before the freeze for this lag.";
}

/// Returns the step at which the variance was frozen, or else the last step.
Index end_of_dense(const analysis::VarianceView& view) {
  return view.freeze_step > 0 ? view.freeze_step : view.steps.back();
}

/// Whether two curves have the same values at all steps up to a last one at which both are known, at least two.
bool coincide(const analysis::VarianceView& one, const analysis::VarianceView& other, Index last) {
  const std::vector<double>&here = rule_series(one).ratio, &there = rule_series(other).ratio;
  std::size_t known = 0;
  for (std::size_t i = 0; i < std::min(here.size(), there.size()) && one.steps[i] <= last; ++i) {
    if (std::isnan(here[i]) || std::isnan(there[i])) continue;
    if (one.steps[i] != other.steps[i] || here[i] != there[i]) return false;
    ++known;
  }
  return known > 1;
}

/// Names pairs of arms whose curves coincide up to a freeze, so that one hides the other; empty if there are none.
std::string hidden_text(std::span<const std::string> arms, std::span<const analysis::VarianceView> views) {
  std::string text;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    for (std::size_t b = a + 1; b < arms.size(); ++b) {
      const Index last = std::min(end_of_dense(views[a]), end_of_dense(views[b]));
      if (coincide(views[a], views[b], last))
        text += " Up to step " + std::to_string(last) + ", the curve of " + arms[b] + " hides that of " + arms[a] + ".";
    }
  }
  return text;
}

/// Says where the curves of the runs that froze end.
std::string ends_text(std::span<const std::string> arms, std::span<const analysis::VarianceView> views) {
  std::vector<std::string> on, end;
  std::string text = " Dashed lines mark freeze steps.";
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const Index freeze = views[a].freeze_step, last = cut_off(views[a]);
    if (freeze > 0) (last == freeze ? end : on).push_back(arms[a]);
    if (last > freeze)
      text += " The ratio of " + arms[a] + " is known up to step " + std::to_string(last) +
              ", because later probes are not a lag apart.";
  }
  if (on.empty() && end.empty()) return " No run froze.";
  const std::string shadow = " after the freeze with the shadow variance", stop = " at the freeze";
  if (end.empty()) return text + " The curves continue" + shadow + ".";
  if (on.empty()) return text + " The curves of the runs that froze their variance end" + stop + ".";
  text.append(" The curves of ").append(join(on, "; ")).append(" continue").append(shadow);
  return text.append("; those of ").append(join(end, "; ")).append(" end").append(stop).append(".");
}

/// Leaves out the first evaluation of each curve if it alone sets more than two thirds of the range of a linear loss
/// axis, and every curve has at least three.
void leave_out_start(Figure& figure) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double least = infinity, later = -infinity, most = -infinity;
  for (const analysis::Curve& curve : figure.plot.curves) {
    if (!curve.y.empty() && curve.y.size() < 3) return;
    for (std::size_t i = 0; curve.sets_range && i < curve.y.size(); ++i) {
      least = std::fmin(least, curve.y[i]);
      most = std::fmax(most, curve.y[i]);
      if (i > 0) later = std::fmax(later, curve.y[i]);
    }
  }
  if (figure.plot.log_x || figure.plot.log_y || !(later > least && most - least > 3 * (later - least))) return;
  for (analysis::Curve& curve : figure.plot.curves) {
    if (curve.y.empty()) continue;
    for (std::vector<double>* values : {&curve.x, &curve.y, &curve.half_widths}) values->erase(values->begin());
  }
  add_sentence("The first evaluations are omitted, because they alone would take up most of the axis range.", figure);
}

}  // namespace

std::vector<Figure> loss_figures(const analysis::Comparison& comparison, std::span<const std::string> arms) {
  std::vector<Figure> figures;
  const std::size_t curves = comparison.arms.front().curves.size();
  const bool decades = spans_decades(comparison, arms), seeds = has_seeds(comparison, arms);
  for (std::size_t c = 0; c < curves; ++c) {
    Figure figure = empty_loss_figure(comparison.arms.front().curves[c], seeds);
    figure.plot.log_y = decades;
    if (decades) figure.plot.y_label += " (logarithmic)";
    if (figure.name == "loss-samples" && !batches_differ(comparison)) continue;  // it would repeat the steps
    for (const analysis::ArmFigures& arm : comparison.arms) {
      if (std::ranges::find(arms, arm.name) == arms.end()) continue;
      figure.plot.curves.push_back(curve_of(arm, arm.curves[c]));
      figure.plot.curves.back().colour = grid_of(comparison, arm.name);
    }
    const bool any = std::ranges::any_of(figure.plot.curves, [](const auto& curve) { return !curve.x.empty(); });
    const auto is_crossed = [&](const analysis::Curve& curve) {
      return curve.crossed && std::ranges::any_of(curve.x, [&](double x) { return !figure.plot.log_x || x > 0; });
    };
    leave_out_start(figure);
    if (std::ranges::any_of(figure.plot.curves, is_crossed))
      add_sentence("The curve of an arm whose runs diverged ends in a cross.", figure);
    if (any) figures.push_back(std::move(figure));
  }
  return figures;
}

Figure stability_figure(const analysis::Comparison& comparison, std::span<const std::string> arms,
                        std::span<const analysis::VarianceView> views) {
  Figure figure{
      .name = "variance",
      .caption =
          "The curves show min(r, 1/r), where r is ||v||_1 of the variance that preconditions the step "
          "(bias-corrected, if the correction is on), divided by its value one lag earlier, in one run of each arm." +
          hidden_text(arms, views) + ends_text(arms, views) + curveless_text(arms, views)};
  figure.plot = {.title = "Stability of the variance",
                 .x_label = "step",
                 .y_label = "stability ratio",
                 .legend = "tmargin center horizontal",
                 .curves = {}};
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const analysis::StabilitySeries& series = rule_series(views[a]);
    analysis::Curve curve{.label = arms[a] + ", lag " + std::to_string(series.lag), .x = {}, .y = {}};
    for (std::size_t i = 0; i < series.ratio.size(); ++i) {
      // After the freeze the ratio is known only at probe steps; a gap at each step between them would break the line.
      if (views[a].freeze_step > 0 && views[a].steps[i] > views[a].freeze_step && std::isnan(series.ratio[i])) continue;
      curve.x.push_back(static_cast<double>(views[a].steps[i]));
      curve.y.push_back(series.ratio[i]);
    }
    curve.mark_x = static_cast<double>(views[a].freeze_step);
    curve.colour = grid_of(comparison, arms[a]);
    figure.plot.curves.push_back(std::move(curve));
  }
  return figure;
}

Figure tensor_figure(const std::string& arm, const analysis::VarianceView& view) {
  Figure figure{
      .name = "tensors-" + arm,
      .caption =
          std::string("Stability ratio of every tensor's variance") +
          (view.freeze_step > 0 ? " until the freeze" : "") +
          "; bright means stable, light grey means that the ratio is not known. The colours mean the same in the "
          "maps of all arms."};
  figure.map = {.title = "Stability by tensor, " + arm,
                .x_label = "step",
                .rows = {},
                .columns = {},
                .values = {},
                .value_label = "stability ratio",
                .high = 1};
  for (const Index step : view.tensor_steps) figure.map.columns.push_back(std::to_string(step));
  for (const analysis::TensorStability& tensor : view.tensors) {
    figure.map.rows.push_back(tensor.name);
    figure.map.values.push_back(tensor.ratio);
  }
  return figure;
}

Figure steps_figure(const std::string& arm, const analysis::StepSizes& sizes, Index freeze_step) {
  constexpr std::size_t shown = 6;
  Figure figure{.name = "steps-" + arm,
                .caption =
                    "The curves show how far one bit would move the coordinate with the smallest denominator, in "
                    "multiples of the learning rate. The bit has the scale of its tensor or, in a run that exchanges "
                    "all tensors as one vector, of this vector. Such a run cannot be compared with one that exchanges "
                    "tensor by tensor. Large values warn that compressed steps may explode, but do not prove it."};
  if (freeze_step > 0) add_sentence("The dashed vertical line marks the freeze.", figure);
  figure.plot = {.title = "Longest 1-bit steps, " + arm,
                 .x_label = "step",
                 .y_label = "multiples of the learning rate",
                 .log_y = true,
                 .legend = "tmargin center horizontal",
                 .curves = {}};
  std::vector<std::size_t> tensors(sizes.tensors.size());
  std::iota(tensors.begin(), tensors.end(), std::size_t{0});
  const auto longest = [&](std::size_t tensor) { return sizes.tensors[tensor].longest[sizes.freeze_row]; };
  std::ranges::stable_sort(tensors, std::ranges::greater(), longest);
  if (tensors.size() > shown) tensors.resize(shown);
  for (const std::size_t tensor : tensors) {
    analysis::Curve curve{.label = sizes.tensors[tensor].name, .x = {}, .y = {}};
    for (std::size_t row = 0; row < sizes.steps.size(); ++row) {
      if (sizes.steps[row] == 1 && sizes.steps.size() > 2) continue;  // one gradient's variance would set the range
      curve.x.push_back(static_cast<double>(sizes.steps[row]));
      curve.y.push_back(sizes.tensors[tensor].longest[row]);
    }
    curve.colour = tensor;
    figure.plot.curves.push_back(std::move(curve));
  }
  figure.plot.curves.push_back(
      {.label = "", .x = {}, .y = {}, .mark_x = static_cast<double>(freeze_step), .colour = analysis::kBlack});
  return figure;
}

/// Share of the right side of a bound above which the line of a term is hidden by it, on the figure's logarithmic axis.
constexpr double kCovered = 0.99;

Figure bound_figure(const std::string& arm, const analysis::TheoryView& view) {
  const bool bounds = !view.bound.empty() && view.bound.back().factor > 0;
  Figure figure{.name = "bound-" + arm,
                .caption = std::string("Sums over the steps after the freeze. ") +
                           (bounds ? "The left side is drawn where it is positive."
                            : view.bound.empty() || std::isnan(view.bound.back().factor)
                                ? "The left side is not drawn, because its factor is unknown."
                                : "The left side is not drawn, because its factor is not positive: the theorem gives "
                                  "no bound at this learning rate.")};
  figure.plot = {.title = (bounds ? "Both sides" : "Right side") + (" of the bound of 1-bit Adam, " + arm),
                 .x_label = "step",
                 .y_label = "sum",
                 .log_y = true,
                 .legend = "tmargin center horizontal",
                 .curves = {}};
  const auto add = [&](const std::string& label, const auto& value) {
    analysis::Curve curve{.label = label, .x = {}, .y = {}};
    for (const analysis::BoundRow& row : view.bound) {
      curve.x.push_back(static_cast<double>(row.step));
      curve.y.push_back(std::invoke(value, row));
    }
    figure.plot.curves.push_back(std::move(curve));
  };
  const auto add_term = [&](const std::string& label, double analysis::BoundRow::*term) {
    add(label, term);
    if (!view.bound.empty() &&
        std::ranges::all_of(view.bound, [&](const auto& row) { return row.*term > kCovered * row.right(); }))
      add_sentence("The line of '" + label + "' is hidden by that of the right side.", figure);
  };
  if (bounds) add("left side", &analysis::BoundRow::left);
  add_term("start", &analysis::BoundRow::start);
  add_term("errors", &analysis::BoundRow::errors);
  add_term("noise", &analysis::BoundRow::noise);
  add_term("momentum", &analysis::BoundRow::momentum);
  add("right side", &analysis::BoundRow::right);
  return figure;
}

std::vector<Figure> sweep_figures(std::span<const analysis::Arm> arms, const analysis::Comparison& comparison) {
  const std::vector<VariedOption> options = varied(arms);
  if (options.size() != 2) return {};
  const VariedOption &rows = options.front(), &columns = options.back();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Figure figure{.name = "sweep", .caption = "Mean final loss; a cell is blank if its runs are missing or diverged."};
  figure.map = {.title = "Final loss over " + rows.name + " (rows) and " + columns.name,
                .x_label = columns.name,
                .rows = rows.values,
                .columns = columns.values,
                .values = std::vector(rows.values.size(), std::vector(columns.values.size(), nan)),
                .value_label = "final loss"};
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const auto place = [&](const VariedOption& option) {
      return static_cast<std::size_t>(std::ranges::find(option.values, value_of(arms[a], option.name)) -
                                      option.values.begin());
    };
    const std::size_t row = place(rows), column = place(columns);
    if (row < rows.values.size() && column < columns.values.size())
      figure.map.values[row][column] = comparison.arms[a].final_loss.mean;
  }
  return {figure};
}

}  // namespace onebit::experiments
