#include "experiments/reference_case.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "device/error.hpp"
#include "experiments/replay.hpp"

namespace onebit::experiments {
namespace {

/// Attributes of a case that are an option's value as they are.
const std::map<std::string, std::string>& option_of_attribute() {
  static const std::map<std::string, std::string> table = [] {
    std::map<std::string, std::string> options;
    for (const std::string name : {"lr", "eps", "weight_decay", "bias_correction", "momentum", "nesterov", "max_coeff",
                                   "min_coeff", "coeff_beta", "factor_max", "factor_min", "factor_threshold",
                                   "var_freeze_step", "var_update_scaler", "local_step_scaler", "local_step_clipper"}) {
      std::string kebab = name;
      std::replace(kebab.begin(), kebab.end(), '_', '-');
      options[name] = "optimizer." + kebab;
    }
    return options;
  }();
  return table;
}

std::string digits_of(const sim::GradientTrace::Attribute& value, std::size_t i) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value.numbers.at(i));
  return digits;
}

double displacement_difference(std::span<const float> x, std::span<const float> reference, std::span<const float> x0) {
  double difference = 0, displacement = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto d = static_cast<double>(x[i]) - static_cast<double>(reference[i]);
    const auto r = static_cast<double>(reference[i]) - static_cast<double>(x0[i]);
    difference += d * d;
    displacement += r * r;
  }
  return difference == 0 ? 0 : std::sqrt(difference / displacement);
}

}  // namespace

Settings case_settings(const sim::GradientTrace& trace, const std::string& name) {
  Settings settings;
  for (const auto& [key, value] : trace.attributes(name)) {
    if (key == "optimizer") {
      settings.emplace_back("optimizer", value.text);
    } else if (key == "betas") {
      settings.emplace_back("optimizer.beta1", digits_of(value, 0));
      settings.emplace_back("optimizer.beta2", digits_of(value, 1));
    } else if (key == "freeze_step") {
      settings.emplace_back("freeze", "fixed:" + digits_of(value, 0));
    } else if (option_of_attribute().contains(key)) {
      settings.emplace_back(option_of_attribute().at(key), digits_of(value, 0));
    } else {
      throw ConfigError("the case has a hyper-parameter without an option", name + ": " + key);
    }
  }
  return settings;
}

void Deviation::take(double difference, Index at_step) {
  if (std::isfinite(worst) && !(difference <= worst)) *this = {difference, at_step};
}

void compare_step(const sim::GradientTrace& trace, const std::string& name, Index step, const std::vector<float>& x,
                  CaseDeviation& deviation) {
  const auto parameters = static_cast<std::size_t>(trace.parameters());
  const auto row = [&](const std::vector<float>& rows, std::size_t worker) {
    return std::span(rows).subspan(rows.size() == parameters ? 0 : worker * parameters, parameters);
  };
  deviation.first.take(displacement_difference(row(x, 0), trace.reference(name, step - 1), trace.x0()), step);
  if (!deviation.has_all) return;
  const std::vector<float> reference = trace.worker_reference(name, step - 1);
  for (std::size_t worker = 0; worker < static_cast<std::size_t>(trace.workers()); ++worker) {
    deviation.all.take(displacement_difference(row(x, worker), row(reference, worker), trace.x0()), step);
  }
}

sim::RunConfig case_config(const sim::GradientTrace& trace, const std::string& name, const Settings& more) {
  Settings settings;
  if (!name.empty()) settings = case_settings(trace, name);
  settings.insert(settings.end(), more.begin(), more.end());
  return make_config(settings);
}

CaseDeviation replay_case(const sim::GradientTrace& trace, const sim::RunConfig& config, const std::string& name,
                          const std::string& out, bool overwrite) {
  Replay replay(trace, config);
  std::optional<sim::TraceWriter> writer;  // only now: what cannot be replayed leaves no file
  if (!out.empty()) {
    writer.emplace(out, trace.parameters(), overwrite, replay.local_weights() ? trace.workers() : 0, trace.steps());
  }
  CaseDeviation deviation;
  deviation.has_all = !name.empty() && trace.has_worker_reference(name);
  replay.run([&](Index step, const std::vector<float>& x) {
    if (writer) writer->write_step(step - 1, x);
    if (!name.empty()) compare_step(trace, name, step, x, deviation);
  });
  if (writer) writer->close();
  return deviation;
}

}  // namespace onebit::experiments
