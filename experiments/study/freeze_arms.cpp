#include "experiments/study/freeze_arms.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "optim/parent.hpp"
#include "sim/run/memory_plan.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kFrozen = "frozen";
constexpr const char* kCompressed = "compressed";

}  // namespace

void check_frozen_options(const Study& study, const std::string& command) {
  if (study.seeds < 3)
    throw ConfigError("too few seeds", "seeds " + std::to_string(study.seeds),
                      "give --seeds 5: some seeds choose the freeze step, and at least two others judge it");
  if (study.folder.empty()) throw ConfigError("no output folder", command, "give -o DIR");
  for (const auto& [name, value] : study.run.settings) {
    if (name == "freeze" || name == "freeze.threshold" || name == "optimizer.var-freeze-step")
      throw ConfigError(command + " sets the freeze step itself", name,
                        command == "freeze" ? "leave this option out"
                                            : "leave it out; --thresholds or --freeze-at sets where to freeze");
    if (name == "freeze.scope" && value != "run")
      throw ConfigError(command + " needs one freeze step for all tensors", name + " " + value,
                        "use 'onebit compare' with --arm tensor:freeze=auto,freeze.scope=tensor");
  }
}

void check_frozen_run(const Study& study, const std::vector<Index>& steps) {
  sim::RunConfig config = make_config(study.run.settings);
  const std::string name = config.optimizer.name;
  if (optim::uncompressed_twin_of(name).empty())
    throw ConfigError("a freeze cannot be judged with this optimizer", name,
                      "use onebit-adam, onebit-lamb or zeroone-adam");
  if (config.log.every != 1)
    throw ConfigError("the search for a freeze step needs every step in the log", "log.every", "leave it at 1");
  if (config.optimizer.semantics != optim::Semantics::paper)
    throw ConfigError("freezes are judged with paper semantics only", "optimizer.semantics deepspeed",
                      "use --optimizer.semantics paper; DeepSpeed's freeze_step is the step found plus 1");
  config.optimizer.freeze.policy = "auto";
  if (!steps.empty()) config.optimizer = optim::frozen_after(std::move(config.optimizer), steps.back());
  if (steps.empty() && !optim::is_dense_until_freeze(name))
    config.optimizer = optim::frozen_after(std::move(config.optimizer), 1);
  sim::prepare(config);  // refuses a run that could never freeze
  warn_of_idle_options(study, {{config}});
}

std::vector<Arm> arms_to_try(const Study& study) {
  const std::string optimizer = make_config(study.run.settings).optimizer.name;
  std::vector<Arm> arms = {{kFrozen, study.run.settings}, {kCompressed, study.run.settings}};
  arms.front().settings.emplace_back("optimizer", std::string(optim::uncompressed_twin_of(optimizer)));
  for (Arm& arm : study.arms.arms.empty() ? std::vector<Arm>{} : arms_of(study.run, study.arms)) {
    for (std::size_t i = study.run.settings.size(); i < arm.settings.size(); ++i) {
      const std::string& name = arm.settings[i].first;
      const bool later = name.starts_with("optimizer.") || name.starts_with("codec") || name.starts_with("feedback");
      if (!later)
        throw ConfigError("an arm may only set options that act after the freeze", arm.name + ": " + name,
                          "options of the optimizer, the codec and the feedback");
    }
    if (arm.name == kFrozen || arm.name == kCompressed || arm.name == "dense")
      throw ConfigError("reserved arm name", arm.name, "choose a name other than dense, frozen and compressed");
    arms.push_back(std::move(arm));
  }
  return arms;
}

analysis::FreezeTrial trial_of(const SeedRuns& runs, const std::vector<Arm>& arms, Index step) {
  analysis::FreezeTrial trial{.seed = runs.seed(), .freeze_step = step, .frozen = {}, .compressed = {}};
  for (const Arm& arm : arms) {
    const analysis::FreezeOutcome outcome = runs.outcome(arm, step);
    if (arm.name == kFrozen) trial.frozen = outcome;
    if (arm.name != kFrozen) trial.compressed.push_back(outcome);
  }
  return trial;
}

std::pair<double, std::string> reference_of(const std::string& text, const std::optional<sim::Constants>& constants,
                                            std::span<const analysis::DenseTrial> dense,
                                            std::span<const analysis::FreezeTrial> trials) {
  if (text == "best") {
    double best = std::numeric_limits<double>::infinity();
    for (const analysis::DenseTrial& trial : dense) best = std::fmin(best, trial.outcome.loss);
    for (const analysis::FreezeTrial& trial : trials) {
      best = std::fmin(best, trial.frozen.loss);
      for (const analysis::FreezeOutcome& outcome : trial.compressed) best = std::fmin(best, outcome.loss);
    }
    return {best, "the best final loss of these runs, " + shortest(best)};
  }
  if (!text.empty() && text != "known") return {parse_real("reference", text), text};
  const bool known = constants && !std::isnan(constants->optimum_loss);
  if (known) return {constants->optimum_loss, "the known minimum, " + shortest(constants->optimum_loss)};
  return {0, "0 (no minimum is known)"};
}

}  // namespace onebit::experiments
