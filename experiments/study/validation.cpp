#include "experiments/study/validation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/freeze/variance.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/study/freeze_arms.hpp"
#include "experiments/study/price.hpp"

namespace onebit::experiments {
namespace {

using Candidates = std::map<Index, std::vector<std::size_t>>;  ///< candidates by the step that they choose

Candidates chosen_steps(const ValidationRequest& request, const std::string& dense) {
  Candidates steps;
  for (std::size_t c = 0; c < request.steps.size(); ++c) steps[request.steps[c]].push_back(c);
  if (request.thresholds.empty()) return steps;
  const sim::LogReader log(dense);
  const auto view =
      analysis::view_variance(log, {.lags = {log.header().variance_lag}, .thresholds = request.thresholds});
  for (std::size_t c = 0; c < view.thresholds.size(); ++c) {
    const Index step = view.thresholds[c].freeze_step;
    if (step > 0 && step < view.steps.back()) steps[step].push_back(c);
  }
  return steps;
}

/// Runs the trials of a seed whose dense run exists, at every candidate that it reaches. Returns false where a signal
/// stopped it.
bool run_trials(SeedRuns& runs, const ValidationRequest& request, const std::vector<Arm>& arms,
                std::vector<analysis::FreezeTrial>& trials) {
  const Candidates steps = chosen_steps(request, runs.dense_path());
  SeedRuns::Branches branches;
  for (const auto& [step, candidates] : steps) {
    for (const Arm& arm : arms) branches[step].push_back(&arm);
  }
  if (!runs.run(branches)) return false;
  for (const auto& [step, candidates] : steps) {
    analysis::FreezeTrial trial = trial_of(runs, arms, step);
    for (const std::size_t candidate : candidates) {
      trial.candidate = candidate;
      trials.push_back(trial);
    }
  }
  return true;
}

std::vector<std::string> names_of(const ValidationRequest& request) {
  std::vector<std::string> names;
  for (const double threshold : request.thresholds) names.push_back(shortest(threshold));
  for (const Index step : request.steps) names.push_back("step " + std::to_string(step));
  return names;
}

/// Parses a list of numbers and sorts it; no number may occur twice.
template <class Number, class Parse>
std::vector<Number> rising(const std::string& option, const std::string& text, const Parse& parse) {
  std::vector<Number> numbers;
  for (const std::string& item : split(text, ',')) numbers.push_back(parse(item));
  std::ranges::sort(numbers);
  if (std::ranges::adjacent_find(numbers) != numbers.end()) throw ConfigError("a value twice", option + " " + text);
  return numbers;
}

double threshold_of(const std::string& text) {
  const double threshold = parse_real("thresholds", text);
  if (!(threshold > 0 && threshold <= 1)) throw ConfigError("option out of range", "thresholds " + text, "in (0, 1]");
  return threshold;
}

Index step_of(const std::string& text) {
  const Index step = parse_integer("freeze-at", text);
  if (step < 1) throw ConfigError("option out of range", "freeze-at " + text, "at least 1 dense update");
  return step;
}

}  // namespace

ValidationRequest validation_request(const CommandLine& line) {
  using analysis::FreezeMeasure;
  ValidationRequest request{.thresholds = {0.5, 0.8, 0.9, 0.96, 0.99, 0.999}, .steps = {}, .reference = line.reference};
  if (!line.thresholds.empty() && !line.freeze_at.empty())
    throw ConfigError("both thresholds and steps", "thresholds, freeze-at", "give one of them");
  if (!line.thresholds.empty()) request.thresholds = rising<double>("thresholds", line.thresholds, threshold_of);
  if (!line.freeze_at.empty()) {
    request.thresholds.clear();
    request.steps = rising<Index>("freeze-at", line.freeze_at, step_of);
  }
  const std::map<std::string, FreezeMeasure> measures = {{"", FreezeMeasure::loss},
                                                         {"loss", FreezeMeasure::loss},
                                                         {"accuracy", FreezeMeasure::accuracy},
                                                         {"steps", FreezeMeasure::steps}};
  if (!measures.contains(line.measure))
    throw ConfigError("unknown measure", "measure " + line.measure, "loss, accuracy or steps");
  request.measure = measures.at(line.measure);
  request.margin = line.margin.value_or(analysis::default_margin);
  request.target = make_price_config(line.price).target;
  const bool counts_steps = request.measure == FreezeMeasure::steps;
  if (counts_steps != std::isfinite(request.target))
    throw ConfigError(counts_steps ? "no loss to reach" : "a target that this measure does not use", "target",
                      "--measure steps takes --target LOSS, the other measures take none");
  if (!line.reference.empty() && request.measure != FreezeMeasure::loss)
    throw ConfigError("a reference for an excess that nothing counts", "reference " + line.reference,
                      "it goes with --measure loss");
  if (!line.reference.empty() && line.reference != "best" && line.reference != "known")
    parse_real("reference", line.reference);
  return request;
}

ValidationResult run_validation(const CommandLine& line, const ValidationRequest& request) {
  check_frozen_options(line, "analyze --validate");
  check_frozen_run(line, request.steps);
  const std::vector<Arm> arms = arms_to_try(line);
  make_room(line, arms);
  install_stop_handler();
  ValidationResult result;
  std::vector<analysis::DenseTrial> dense;
  std::vector<analysis::FreezeTrial> trials;
  std::optional<sim::Constants> constants;
  for (Index seed = 0; seed < line.seeds; ++seed) {
    SeedRuns runs(line, seed, request.target);
    try {
      result.complete = runs.run_dense() && run_trials(runs, request, arms, trials);
    } catch (const Error& error) {
      result.problem = error.what();
    }
    if (!result.complete || !result.problem.empty()) break;
    dense.push_back(runs.dense());
    constants = sim::LogReader(runs.dense_path()).header().constants;
  }
  std::vector<std::string> names;
  for (std::size_t arm = 1; arm < arms.size(); ++arm) names.push_back(arms[arm].name);
  const auto [reference, words] = reference_of(request.reference, constants, dense, trials);
  result.reference = words;
  const analysis::FreezeCriterion criterion{
      .measure = request.measure, .margin = request.margin, .reference = reference, .choosing = (line.seeds + 1) / 3};
  result.validation = analysis::validate_freeze(names_of(request), names, dense, trials, criterion);
  return result;
}

}  // namespace onebit::experiments
