#include "experiments/output/pricing/fit_output.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "analysis/pictures/plot.hpp"
#include "experiments/output/analysis/interval_output.hpp"

namespace onebit::experiments {
namespace {

double on_line(const analysis::PowerFit& fit, double x) {
  return fit.factor * std::pow(x, fit.exponent);
}

analysis::Interval exponent_of(const analysis::RateFit& fit) {
  return {fit.fit.exponent, fit.fit.half_width, fit.fit.points};
}

/// Returns y = factor x^exponent between the first and the last run.
analysis::Curve line(const std::string& label, const analysis::RateFit& runs, const analysis::PowerFit& fit) {
  const double first = runs.points.front().x, last = runs.points.back().x;
  return {.label = label, .x = {first, last}, .y = {on_line(fit, first), on_line(fit, last)}};
}

analysis::Curve dots(const analysis::RateFit& fit) {
  analysis::Curve curve{.label = "", .x = {}, .y = {}, .dots = true};
  for (const analysis::RatePoint& point : fit.points) {
    curve.x.push_back(point.x);
    curve.y.push_back(point.gradient_square);
  }
  return curve;
}

/// Returns the learning rates by ascending x, without repeats.
std::string rates_text(const analysis::RateFit& fit) {
  std::vector<std::string> rates;
  for (const analysis::RatePoint& point : fit.points) {
    const std::string rate = std::isfinite(point.learning_rate) ? shortest(point.learning_rate) : "unknown";
    if (std::ranges::find(rates, rate) == rates.end()) rates.push_back(rate);
  }
  return rates.size() == 1 ? "learning rate " + rates.front() : "different learning rates: " + join(rates, ", ");
}

Json to_json(const analysis::RateFit& fit) {
  std::vector<Json> points;
  for (const analysis::RatePoint& at : fit.points)
    points.push_back(
        Json::object({{"x", at.x}, {"learning_rate", at.learning_rate}, {"gradient_square", at.gradient_square}}));
  const std::vector<Json> differing(fit.differing.begin(), fit.differing.end());
  return Json::object({{"name", fit.name},
                       {"optimizer", fit.optimizer},
                       {"differing", Json::array(differing)},
                       {"exponent", fit.fit.exponent},
                       {"half_width", fit.fit.half_width},
                       {"factor", fit.fit.factor},
                       {"points", Json::array(points)}});
}

}  // namespace

void print_fits(const std::vector<analysis::RateFit>& fits, const std::string& variable, std::ostream& out) {
  Table table({"runs", variable, "learning rate", "mean ||grad f||^2", "fitted"});
  for (const analysis::RateFit& fit : fits) {
    for (const analysis::RatePoint& point : fit.points) {
      table.add({fit.name, number(point.x, 6), number(point.learning_rate), number(point.gradient_square),
                 number(on_line(fit.fit, point.x))});
    }
  }
  table.print(out);
  out << "\n";
  for (const analysis::RateFit& fit : fits) {
    out << fit.name << ": ||grad f||^2 is proportional to " << variable << " to the power of "
        << interval_text(exponent_of(fit), 3) << (std::isfinite(fit.fit.half_width) ? " (95%, " : " (no interval, ")
        << fit.fit.points << " runs that differ in " << join(fit.differing, ", ") << "; " << rates_text(fit) << ")\n";
  }
}

Json to_json(const std::vector<analysis::RateFit>& fits) {
  std::vector<Json> items;
  for (const analysis::RateFit& fit : fits) items.push_back(to_json(fit));
  return Json::array(items);
}

std::vector<std::string> draw_fits(const std::vector<analysis::RateFit>& fits, const std::string& variable,
                                   const std::string& stem) {
  if (fits.empty()) return {};
  analysis::Plot plot{.title = "Rates of convergence",
                      .x_label = variable,
                      .y_label = "mean ||grad f||^2 after the freeze",
                      .log_x = true,
                      .x_unit = "",
                      .log_y = true,
                      .curves = {}};
  for (const analysis::RateFit& fit : fits) {
    plot.curves.push_back(line(fit.name + ": " + interval_text(exponent_of(fit), 3), fit, fit.fit));
    plot.curves.push_back(dots(fit));
  }
  const analysis::RatePoint& first = fits.front().points.front();
  const double theory = variable == "errors" ? 2.0 / 3 : -0.5;
  const double factor = first.gradient_square / std::pow(first.x, theory);
  plot.curves.push_back(
      line(variable == "errors" ? "2/3" : "-1/2", fits.front(), {.exponent = theory, .factor = factor}));
  return analysis::draw(plot, stem);
}

}  // namespace onebit::experiments
