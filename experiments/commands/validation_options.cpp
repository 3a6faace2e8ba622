#include "experiments/commands/validation_options.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "device/base/error.hpp"
#include "experiments/options/options.hpp"

namespace onebit::experiments {
namespace {

/// Parses a list of numbers and sorts it; no number may occur twice.
template <class Number, class Parse>
std::vector<Number> rising(const std::string& option, const std::string& text, const Parse& parse) {
  std::vector<Number> numbers;
  for (const std::string& item : split(text, ',')) numbers.push_back(parse(item));
  std::ranges::sort(numbers);
  if (std::ranges::adjacent_find(numbers) != numbers.end()) throw ConfigError("value given twice", option + " " + text);
  return numbers;
}

Index step_of(const std::string& text) {
  const Index step = parse_integer("freeze-at", text);
  if (step < 1) throw ConfigError("option out of range", "freeze-at " + text, "at least 1 dense update");
  return step;
}

}  // namespace

double threshold_of(const std::string& text) {
  const double threshold = parse_real("thresholds", text);
  if (!(threshold > 0 && threshold <= 1)) throw ConfigError("option out of range", "thresholds " + text, "in (0, 1]");
  return threshold;
}

ValidationRequest request_of(const ValidationOptions& options, double target) {
  using analysis::FreezeMeasure;
  ValidationRequest request{
      .thresholds = {0.5, 0.8, 0.9, 0.96, 0.99, 0.999}, .steps = {}, .reference = options.reference};
  if (!options.thresholds.empty() && !options.freeze_at.empty())
    throw ConfigError("both thresholds and steps are given", "thresholds, freeze-at", "give one of them");
  if (!options.thresholds.empty()) request.thresholds = rising<double>("thresholds", options.thresholds, threshold_of);
  if (!options.freeze_at.empty()) {
    request.thresholds.clear();
    request.steps = rising<Index>("freeze-at", options.freeze_at, step_of);
  }
  const std::map<std::string, FreezeMeasure> measures = {{"", FreezeMeasure::loss},
                                                         {"loss", FreezeMeasure::loss},
                                                         {"accuracy", FreezeMeasure::accuracy},
                                                         {"steps", FreezeMeasure::steps}};
  if (!measures.contains(options.measure))
    throw ConfigError("unknown measure", "measure " + options.measure, "loss, accuracy or steps");
  request.measure = measures.at(options.measure);
  request.margin = options.margin.value_or(analysis::default_margin);
  request.target = target;
  const bool counts_steps = request.measure == FreezeMeasure::steps;
  if (counts_steps != std::isfinite(request.target))
    throw ConfigError(counts_steps ? "no loss to reach is given" : "this measure does not use a target", "target",
                      "--measure steps needs --target LOSS; leave it out with other measures");
  if (!options.reference.empty() && request.measure != FreezeMeasure::loss)
    throw ConfigError("--reference has no effect with this measure", "reference " + options.reference,
                      "leave it out, or use --measure loss");
  if (!options.reference.empty() && options.reference != "best" && options.reference != "known")
    parse_real("reference", options.reference);
  return request;
}

}  // namespace onebit::experiments
