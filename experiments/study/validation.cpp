#include "experiments/study/validation.hpp"

#include <algorithm>
#include <map>

#include "analysis/freeze/variance.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/study/freeze_arms.hpp"

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

/// Runs the trials of a seed whose dense run exists, at every candidate that the run reaches. Returns false if a signal
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

}  // namespace

ValidationResult run_validation(const Study& study, const ValidationRequest& request) {
  check_frozen_options(study, "analyze --validate");
  check_frozen_run(study, request.steps);
  const std::vector<Arm> arms = arms_to_try(study);
  make_room(study, arms);
  study.training.watcher.on_start();
  ValidationResult result;
  std::vector<analysis::DenseTrial> dense;
  std::vector<analysis::FreezeTrial> trials;
  std::optional<sim::Constants> constants;
  for (Index seed = 0; seed < study.seeds; ++seed) {
    SeedRuns runs(study, seed, request.target);
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
      .measure = request.measure, .margin = request.margin, .reference = reference, .choosing = (study.seeds + 1) / 3};
  result.validation = analysis::validate_freeze(names_of(request), names, dense, trials, criterion);
  return result;
}

}  // namespace onebit::experiments
