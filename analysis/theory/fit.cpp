#include "analysis/theory/fit.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "analysis/compare/arm_names.hpp"
#include "analysis/log/log_options.hpp"
#include "analysis/theory/theory.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"

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
  if (!(errors > 0))
    throw ConfigError("the run has no errors to fit against", log.path(),
                      "use runs that compress and log workers (--log.workers-every)");
  return errors;
}

constexpr const char* kRate = "optimizer.lr";

/// Whether an option determines the variable of the fit.
bool makes(const std::string& option, Variable variable) {
  if (variable == Variable::steps) return option == "steps" || option == "epochs";
  if (variable == Variable::workers) return option == "workers";
  const auto of = [&](const std::string& group) { return option == group || option.starts_with(group + "."); };
  return of("codec") || of("channel") || of("feedback") || option == "model.noise" || option == "model.heterogeneity";
}

/// A run's options: those that determine the variable, the learning rate, and the rest.
struct Settings {
  OptionValues variable, rate, rest;
};

Settings settings_of(const Run& run, Variable variable) {
  Settings settings;
  for (const auto& option : arm_options(run)) {
    if (option.first == "eval.examples") continue;  // the fitted quantity comes from training, not from evaluation
    const bool varies = makes(option.first, variable);
    (varies ? settings.variable : option.first == kRate ? settings.rate : settings.rest).insert(option);
  }
  return settings;
}

/// Runs of one fit, and what they have in common.
struct Group {
  OptionValues common;
  std::vector<const Run*> runs;
};

/// Groups runs by key_of, in the order of their first runs.
template <class KeyOf>
std::vector<Group> grouped(const std::vector<const Run*>& runs, const KeyOf& key_of) {
  std::vector<Group> groups;
  for (const Run* run : runs) {
    const OptionValues key = key_of(*run);
    auto group = std::ranges::find(groups, key, &Group::common);
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
    group->runs.push_back(run);
  }
  return groups;
}

/// Whether the variable determines the learning rate.
bool one_rate_a_setting(const std::vector<const Run*>& runs, Variable variable) {
  std::map<OptionValues, OptionValues> rates;
  return std::ranges::all_of(runs, [&](const Run* run) {
    const Settings settings = settings_of(*run, variable);
    return rates.emplace(settings.variable, settings.rate).first->second == settings.rate;
  });
}

/// Groups runs that are fitted together: they differ in the variable and, if each setting of the variable has its own
/// learning rate, in that rate.
std::vector<Group> groups_of(std::span<const Run> runs, Variable variable) {
  std::vector<const Run*> all;
  for (const Run& run : runs) all.push_back(&run);
  const auto rest_and_rate = [&](const Run& run) {
    Settings settings = settings_of(run, variable);
    settings.rest.merge(settings.rate);
    return settings.rest;
  };
  std::vector<Group> groups;
  for (Group& group : grouped(all, [&](const Run& run) { return settings_of(run, variable).rest; })) {
    if (one_rate_a_setting(group.runs, variable)) {
      groups.push_back(std::move(group));
    } else {
      std::ranges::move(grouped(group.runs, rest_and_rate), std::back_inserter(groups));
    }
  }
  return groups;
}

/// Returns the options for which the runs have several values.
std::vector<std::string> differing_in(const std::vector<const Run*>& runs) {
  std::map<std::string, std::set<std::string>> values;
  std::map<std::string, std::size_t> count;
  for (const Run* run : runs) {
    for (const auto& [option, value] : arm_options(*run)) {
      values[option].insert(value);
      ++count[option];
    }
  }
  std::vector<std::string> options;
  for (const auto& [option, several] : values) {
    if (several.size() > 1 || count[option] < runs.size()) options.push_back(option);
  }
  return options;
}

RateFit fit_of(const Group& group, const std::string& name, Variable variable) {
  RateFit fit{.name = name, .optimizer = {}, .points = {}, .differing = differing_in(group.runs), .fit = {}};
  fit.optimizer = option_of(group.runs.front()->header, "optimizer").value_or("");
  if (!name.starts_with(fit.optimizer)) fit.name = fit.optimizer + ", " + name;
  std::set<OptionValues> settings;
  for (const Run* run : group.runs) {
    settings.insert(settings_of(*run, variable).variable);
    fit.points.push_back(rate_point(sim::LogReader(run->summary.path), variable));
  }
  if (settings.size() < 2)
    throw ConfigError(
        "a power law needs runs that differ in the variable of the fit", fit.name,
        "each learning rate is fitted separately: give several runs of one rate that differ in that variable");
  std::ranges::stable_sort(fit.points, {}, &RatePoint::x);
  std::vector<double> x, y;
  for (const RatePoint& point : fit.points) {
    x.push_back(point.x);
    y.push_back(point.gradient_square);
  }
  fit.fit = fit_power(x, y);
  return fit;
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
  if (!(uu > 0)) throw ConfigError("a power law needs runs that differ in the variable of the fit", "");
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
  if (count == 0)
    throw ConfigError("only probes after the freeze are fitted, and the log has none", log.path(),
                      "train longer, or with a smaller --probe.every");
  return {variable_of(log, variable, last), sum / count,
          number_of(log.header(), kRate, std::numeric_limits<double>::quiet_NaN())};
}

std::vector<RateFit> fit_rates(std::span<const Run> runs, Variable variable) {
  const std::vector<Group> groups = groups_of(runs, variable);
  std::vector<OptionValues> common;
  for (const Group& group : groups) common.push_back(group.common);
  const std::vector<std::string> names = arm_names(common);
  std::vector<RateFit> fits;
  for (std::size_t i = 0; i < groups.size(); ++i) fits.push_back(fit_of(groups[i], names[i], variable));
  return fits;
}

}  // namespace onebit::analysis
