#pragma once
// The interactive chart of a report.

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Whether an arm sets the range of a chart's axes: at least one of its runs finished, none diverged, and it did not
/// end above its starting loss.
bool sets_range(const analysis::ArmFigures& arm);

/// Whether the mean losses that determine the axis range (those of the shown arms) are all positive and span at least a
/// factor of 10, so that a linear axis would hide the final part of the curves.
bool spans_decades(const analysis::Comparison& comparison, std::span<const std::string> shown);

/// Whether one of the shown arms has several finished runs, so that its figures have intervals.
bool has_seeds(const analysis::Comparison& comparison, std::span<const std::string> shown);

/// Returns the range of the final losses of an arm's finished runs, such as "0.47 to 1e+07"; for a single run, returns
/// its loss; empty if no run finished.
std::string loss_range_text(const analysis::ArmFigures& arm);

/// Returns an arm's final loss: mean and interval or, if it ended above its starting loss, the range over its seeds,
/// which may span orders of magnitude: "0.47 to 1e+07".
std::string final_loss_text(const analysis::ArmFigures& arm);

/// Whether the curve of an arm ends because its runs diverged: at least one diverged and none finished.
bool ends_diverged(const analysis::ArmFigures& arm);

/// Returns the label of a curve's x axis, without a unit.
std::string axis_label(const analysis::LossCurve& curve);

/// Returns the data of the chart, as a JSON object: loss of every arm and run against steps, samples, bytes and the
/// seconds on each cluster. Long curves are thinned. shown: the arms that the chart shows at first.
Json chart_data(const analysis::Comparison& comparison, std::span<const std::string> shown);

/// Returns the chart as HTML; empty if this program was built without the chart's library. A script in the page draws
/// it; without scripts it stays hidden. data: the result of chart_data, or an empty text for a chart that is filled
/// later.
std::string chart_html(const std::string& data);

}  // namespace onebit::experiments
