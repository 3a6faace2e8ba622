#include "experiments/report/chart.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/report/assets.hpp"
#include "experiments/report/grids.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;
using analysis::LossCurve;

/// Largest number of points per curve on the page.
constexpr std::size_t kMostPoints = 400;

/// Number of patterns of dashes that the page's script has.
constexpr std::size_t kDashes = 7;

/// Returns at most kMostPoints of `count` indices, evenly spread, including the first and the last.
std::vector<std::size_t> thinned(std::size_t count) {
  std::vector<std::size_t> indices;
  const std::size_t shown = std::min(count, kMostPoints);
  for (std::size_t i = 0; i < shown; ++i) indices.push_back(shown == 1 ? 0 : i * (count - 1) / (shown - 1));
  return indices;
}

/// Returns value(i) for each index, as an array, with as many digits as can be seen.
template <class Value>
Json numbers(const std::vector<std::size_t>& indices, const Value& value) {
  std::vector<Json> items;
  for (const std::size_t i : indices) items.push_back(Json::rounded(value(i), 6));
  return Json::array(items);
}

std::string_view kind_of(analysis::Axis axis) {
  constexpr std::string_view kinds[] = {"steps", "samples", "bytes", "seconds"};
  return kinds[static_cast<std::size_t>(axis)];
}

Json axis_json(const LossCurve& curve) {
  return Json::object({{"kind", std::string(kind_of(curve.axis))}, {"label", axis_label(curve)}});
}

Json run_json(const analysis::RunCurve& run) {
  const std::vector<std::size_t> points = thinned(run.losses.size());
  std::vector<Json> axes;
  for (const std::vector<double>& x : run.x) axes.push_back(numbers(points, [&](std::size_t i) { return x[i]; }));
  return Json::object({{"seed", static_cast<long>(run.seed)},
                       {"diverged", Json::boolean(run.outcome == analysis::Outcome::diverged)},
                       {"loss", numbers(points, [&](std::size_t i) { return run.losses[i]; })},
                       {"x", Json::array(axes)}});
}

/// How an arm is drawn: the arms of a grid share a colour, and those at one rate, whatever the grid, share their
/// dashes, except that the best rate of a grid has none.
struct Look {
  std::size_t colour = 0, dash = 0;
  bool best = false;
};

bool is_solid(const analysis::RateGrid& grid, std::size_t i) {
  return i == grid.best || grid.arms.size() == 1;
}

std::vector<Look> looks_of(const analysis::Comparison& comparison, std::span<const std::string> shown) {
  std::set<double> rates;
  for (const analysis::RateGrid& grid : comparison.grids) {
    std::ranges::copy_if(grid.rates, std::inserter(rates, rates.end()),
                         [](double rate) { return std::isfinite(rate); });
  }
  std::vector<Look> looks(comparison.arms.size());
  for (std::size_t g = 0; g < comparison.grids.size(); ++g) {
    const analysis::RateGrid& grid = comparison.grids[g];
    for (std::size_t i = 0; i < grid.arms.size(); ++i) {
      const bool is_shown = std::ranges::find(shown, comparison.arms[grid.arms[i]].name) != shown.end();
      const auto place = static_cast<std::size_t>(std::distance(rates.begin(), rates.find(grid.rates[i])));
      looks[grid.arms[i]] = {g, is_solid(grid, i) ? 0 : 1 + place % kDashes, is_shown};
    }
  }
  return looks;
}

Json arm_json(const ArmFigures& arm, const Look& look) {
  const std::vector<LossCurve::Point>& shown = arm.curves.front().points;
  const std::vector<std::size_t> points = thinned(shown.size());
  std::vector<Json> axes, runs;
  for (const LossCurve& curve : arm.curves) {
    axes.push_back(numbers(points, [&](std::size_t i) { return curve.points[i].x; }));
  }
  for (const analysis::RunCurve& run : arm.run_curves) runs.push_back(run_json(run));
  return Json::object({{"name", arm.name},
                       {"best", Json::boolean(look.best)},
                       {"colour", static_cast<long>(look.colour)},
                       {"dash", static_cast<long>(look.dash)},
                       {"calm", Json::boolean(sets_range(arm))},
                       {"diverged", arm.diverged},
                       {"ends_diverged", Json::boolean(ends_diverged(arm))},
                       {"remark", outcome_remark(arm)},
                       {"mean", numbers(points, [&](std::size_t i) { return shown[i].loss.mean; })},
                       {"half", numbers(points, [&](std::size_t i) { return shown[i].loss.half_width; })},
                       {"x", Json::array(axes)},
                       {"runs", Json::array(runs)}});
}

/// Returns the axis that is shown first: seconds on the first cluster, or else bytes.
long first_axis(const ArmFigures& arm) {
  const auto seconds = std::ranges::find(arm.curves, analysis::Axis::seconds, &LossCurve::axis);
  const auto shown =
      seconds == arm.curves.end() ? std::ranges::find(arm.curves, analysis::Axis::bytes, &LossCurve::axis) : seconds;
  return shown == arm.curves.end() ? 0 : shown - arm.curves.begin();
}

/// Returns a JSON text that can be part of a script element: no "</script" or "<!--" ends or changes it.
std::string inside_script(std::string json) {
  for (std::size_t at = json.find('<'); at != std::string::npos; at = json.find('<', at))
    json.replace(at, 1, "\\u003c");
  return json;
}

/// Returns the library without the address of its source map, which a browser would look for.
std::string_view without_map(std::string_view text, std::string_view comment) {
  return text.substr(0, text.rfind(comment));
}

constexpr const char* kControls = R"(<section id="chart">
<div class="controls">
<label>against <select id="axis"></select></label>
<label><input type="checkbox" id="log-x"> log x</label>
<label><input type="checkbox" id="log-y"> log y</label>
<label><input type="checkbox" id="end-only"> last half only</label>
<label><input type="checkbox" id="seeds"> single seeds</label>
<button id="reset" title="or a double click in the chart">reset zoom</button>
<button id="theme">light or dark</button>
</div>
<p class="facts" id="status"></p>
<div id="chart-box"></div>
<div id="chart-legend"></div>
<div class="buttons"><button id="best-arms">best rates</button><button id="all-arms">all arms</button><button id="no-arms">none</button></div>
<div id="arms"></div>
<details><summary>How to read the chart</summary>
<p class="facts"><span class="mouse">Drag to zoom, double click to reset.</span> <span id="dashes">The best learning rate of an arm has a solid line; for the others, the dashes stand for the rate.</span> <span id="bands">Bands: 95% interval of the mean over seeds (Student's t). If more than 6 arms are shown, only those in bold have bands.</span> Arms with a run that diverged and arms that ended above their starting loss have no band, and do not set the range of the axes unless they are alone; with log y they may extend it, by a factor of at most 100. A line whose runs all diverged ends in a cross, at the last evaluation with a finite loss for every seed (at the frame if this loss lies above the chart); if only some of them diverged, the line is the mean of the others. Triangles at the top mark where lines rise out of the chart. If the first evaluations would set most of the range of a linear loss axis, they lie above the chart; log y shows them. Values between two evaluations are interpolated. Log x leaves out evaluations at 0.</p>
</details>
</section>
)";

}  // namespace

bool sets_range(const ArmFigures& arm) {
  return arm.finished > 0 && arm.diverged == 0 && !arm.above_start;
}

bool spans_decades(const analysis::Comparison& comparison, std::span<const std::string> shown) {
  constexpr double decade = 10;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const ArmFigures& arm : comparison.arms) {
    if (!sets_range(arm) || std::ranges::find(shown, arm.name) == shown.end()) continue;
    for (const LossCurve::Point& point : arm.curves.front().points) {
      least = std::min(least, point.loss.mean);
      most = std::max(most, point.loss.mean);
    }
  }
  return least > 0 && std::isfinite(least) && most >= decade * least;
}

bool has_seeds(const analysis::Comparison& comparison, std::span<const std::string> shown) {
  return std::ranges::any_of(comparison.arms, [&](const ArmFigures& arm) {
    return arm.finished > 1 && std::ranges::find(shown, arm.name) != shown.end();
  });
}

std::string loss_range_text(const ArmFigures& arm) {
  std::vector<double> losses;
  for (const analysis::RunCurve& run : arm.run_curves) {
    if (run.outcome == analysis::Outcome::finished && !run.losses.empty()) losses.push_back(run.losses.back());
  }
  if (losses.empty()) return "";
  const auto [least, most] = std::ranges::minmax(losses);
  return losses.size() < 2 ? number(most, 3) : number(least, 3) + " to " + number(most, 3);
}

std::string final_loss_text(const ArmFigures& arm) {
  return arm.above_start && arm.finished > 1 ? loss_range_text(arm) : interval_text(arm.final_loss);
}

bool ends_diverged(const ArmFigures& arm) {
  return arm.finished == 0 && arm.diverged > 0;
}

std::string axis_label(const LossCurve& curve) {
  switch (curve.axis) {
    case analysis::Axis::steps:
      return "step";
    case analysis::Axis::samples:
      return "training samples";
    case analysis::Axis::bytes:
      return "bytes sent per worker";
    case analysis::Axis::seconds:
      break;
  }
  return "estimated time on " + curve.cluster;
}

Json chart_data(const analysis::Comparison& comparison, std::span<const std::string> shown) {
  const std::vector<Look> looks = looks_of(comparison, shown);
  std::vector<Json> axes, arms;
  for (const LossCurve& curve : comparison.arms.front().curves) axes.push_back(axis_json(curve));
  for (std::size_t a = 0; a < comparison.arms.size(); ++a) arms.push_back(arm_json(comparison.arms[a], looks[a]));
  return Json::object({{"axis", first_axis(comparison.arms.front())},
                       {"log_y", Json::boolean(spans_decades(comparison, shown))},
                       {"axes", Json::array(axes)},
                       {"arms", Json::array(arms)}});
}

std::string chart_html(const std::string& data) {
  if (assets::library.empty()) return "";
  std::string html = kControls;
  html.append("<style>").append(without_map(assets::library_style, "/*# sourceMap")).append("</style>\n");
  html.append("<script>\n/*\n").append(assets::licence).append("*/\n");
  html.append(without_map(assets::library, "//# sourceMap")).append("</script>\n");
  html.append("<script type=\"application/json\" id=\"curves\">");
  html.append(inside_script(data)).append("</script>\n");
  return html.append("<script>\n").append(assets::script).append("</script>\n");
}

}  // namespace onebit::experiments
