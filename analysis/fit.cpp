#include "analysis/fit.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "analysis/log_options.hpp"
#include "analysis/theory.hpp"
#include "device/error.hpp"
#include "device/text.hpp"

namespace onebit::analysis {
namespace {

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> result;
  for (const double value : values) {
    if (!(value > 0 && std::isfinite(value)))
      throw ConfigError("a power law needs positive numbers", shortest(value),
                        "leave this run out, or train it longer");
    result.push_back(std::log(value));
  }
  return result;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double variable_of(const sim::LogReader& log, Variable variable, double steps) {
  if (variable == Variable::steps) return steps;
  if (variable == Variable::workers) return static_cast<double>(log.header().workers);
  const double errors = view_theory(log).constants.epsilon;
  if (!(errors > 0)) throw ConfigError("the run has no errors to fit against", log.path(), "it does not compress");
  return errors;
}

/// Options in which runs of one fit may differ.
bool may_differ(const std::string& option, Variable variable) {
  if (option == "optimizer.lr" || option == "epochs") return true;
  if (variable == Variable::steps) return option == "steps";
  if (variable == Variable::workers) return option == "workers";
  const auto of = [&](const std::string& group) { return option == group || option.starts_with(group + "."); };
  return of("codec") || of("channel") || of("feedback") || option == "model.noise" || option == "model.heterogeneity";
}

}  // namespace

PowerFit fit_power(std::span<const double> x, std::span<const double> y) {
  const std::vector<double> u = logarithms(x), v = logarithms(y);
  const double u_mean = mean_of(u), v_mean = mean_of(v), n = static_cast<double>(u.size());
  double uu = 0, uv = 0, residual = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    uu += (u[i] - u_mean) * (u[i] - u_mean);
    uv += (u[i] - u_mean) * (v[i] - v_mean);
  }
  if (!(uu > 0)) throw ConfigError("a power law needs runs that differ in what it is fitted against", "");
  PowerFit fit{.exponent = uv / uu, .half_width = std::numeric_limits<double>::quiet_NaN(), .points = std::ssize(u)};
  fit.factor = std::exp(v_mean - fit.exponent * u_mean);
  if (u.size() < 3) return fit;
  for (std::size_t i = 0; i < u.size(); ++i) {
    residual += std::pow(v[i] - v_mean - fit.exponent * (u[i] - u_mean), 2);
  }
  const double t = boost::math::quantile(boost::math::students_t(n - 2), 0.975);
  fit.half_width = t * std::sqrt(residual / (n - 2) / uu);
  return fit;
}

RatePoint rate_point(const sim::LogReader& log, Variable variable) {
  if (!log.header().probed) throw ConfigError("the log has no probes", log.path(), "log runs with --probe.every K");
  const Index freeze = freeze_step_of(log.events());
  double sum = 0, count = 0, last = 0;
  for (const sim::ProbeRow& probe : log.probes()) {
    if (probe.step <= freeze || std::isnan(probe.gradient_square)) continue;
    sum += probe.gradient_square;
    ++count;
    last = static_cast<double>(probe.step - freeze);
  }
  if (count == 0) throw ConfigError("the log has no probe of the stage that is fitted", log.path());
  return {variable_of(log, variable, last), sum / count};
}

std::vector<RateFit> fit_rates(std::span<const Run> runs, Variable variable) {
  std::vector<RateFit> fits;
  std::vector<OptionValues> kinds;
  for (const Run& run : runs) {
    OptionValues kind = arm_options(run);
    std::erase_if(kind, [&](const auto& option) { return may_differ(option.first, variable); });
    const auto place = static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin());
    if (place == kinds.size()) {
      fits.push_back({option_of(run.header, "optimizer").value_or(""), {}, {}});
      kinds.push_back(std::move(kind));
    }
    fits[place].points.push_back(rate_point(sim::LogReader(run.summary.path), variable));
  }
  for (RateFit& fit : fits) {
    std::ranges::stable_sort(fit.points, {}, &RatePoint::x);
    std::vector<double> x, y;
    for (const RatePoint& point : fit.points) {
      x.push_back(point.x);
      y.push_back(point.gradient_square);
    }
    fit.fit = fit_power(x, y);
  }
  return fits;
}

}  // namespace onebit::analysis
