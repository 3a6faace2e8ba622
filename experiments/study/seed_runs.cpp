#include "experiments/study/seed_runs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "analysis/compare/target.hpp"
#include "analysis/log/summary.hpp"
#include "device/base/error.hpp"
#include "experiments/study/resume.hpp"
#include "optim/parent.hpp"
#include "sim/run/checkpoint.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

/// Returns the logs of earlier experiments in a folder.
std::vector<fs::path> earlier_logs(const std::string& folder, const std::vector<Arm>& arms) {
  std::vector<fs::path> logs;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name.starts_with("dense-") ||
                      std::ranges::any_of(arms, [&](const Arm& arm) { return name.starts_with(arm.name + "-"); });
    if (ours && name.find(".h5") != std::string::npos) logs.push_back(entry.path());
  }
  return logs;
}

/// A checkpoint that is removed at the end of its scope.
class Branching {
 public:
  Branching(std::string stem, sim::VirtualCluster& cluster) : stem_(std::move(stem)), step_(cluster.step()) {
    sim::write_checkpoint(stem_, cluster, {});
  }
  ~Branching() { sim::prune_checkpoints(stem_, 0); }
  Branching(const Branching&) = delete;
  Branching& operator=(const Branching&) = delete;
  std::string path() const { return sim::checkpoint_path(stem_, step_); }

 private:
  std::string stem_;
  Index step_;
};

analysis::FreezeOutcome outcome_of(const std::string& path, double target) {
  const sim::LogReader log(path);
  const analysis::Summary summary = analysis::summarize(log, {});
  analysis::FreezeOutcome outcome{.ratio_fp16 = summary.ratio_fp16};
  if (summary.status != sim::RunStatus::finished) return outcome;
  outcome.loss = summary.final_loss;
  outcome.accuracy = summary.accuracy;
  std::vector<double> steps, losses;
  for (const sim::EvaluationRow& row : log.evaluations()) {
    steps.push_back(static_cast<double>(row.step));
    losses.push_back(row.loss);
  }
  outcome.steps = analysis::reached_at(steps, losses, target);
  return outcome;
}

}  // namespace

sim::RunConfig config_of(const Settings& settings, Index seed) {
  sim::RunConfig config = make_config(settings);
  config.seed += static_cast<std::uint32_t>(seed);
  return config;
}

sim::RunConfig frozen_config(const Settings& settings, Index seed, Index step) {
  sim::RunConfig config = config_of(settings, seed);
  config.optimizer = optim::frozen_after(std::move(config.optimizer), step);
  return config;
}

/// Earlier logs must not be mistaken for those of this experiment, whose freeze steps may differ.
void make_room(const Study& study, const std::vector<Arm>& arms) {
  make_folder(study.folder);
  if (study.training.output.resume) return;
  for (const fs::path& path : earlier_logs(study.folder, arms)) {
    if (!study.training.output.overwrite)
      throw ConfigError("output exists", path.string(), "give --overwrite, --resume or another -o DIR");
    fs::remove(path);
  }
}

SeedRuns::SeedRuns(const Study& study, Index seed, double target)
    : study_(study),
      seed_(seed),
      target_(target),
      config_(config_of(study.run.settings, seed)),
      branches_(optim::is_dense_until_freeze(config_.optimizer.name)),
      dense_(study.folder + "/dense-" + std::to_string(config_.seed) + ".h5") {
  config_.optimizer = optim::never_frozen(std::move(config_.optimizer));
}

bool SeedRuns::run_dense() {
  const ResumeDecision decision = resume_decision(study_.training.output, config_, dense_);
  const sim::RunResult result = decision.done ? completed(dense_, config_)
                                              : run_and_log(sim::prepare(continued(config_, decision)), dense_,
                                                            decision.existing, study_.training, label("dense"))
                                                    .result;
  if (result.status == sim::RunStatus::stopped) return false;
  if (!std::isfinite(dense().outcome.loss))
    throw NumericError("the dense run has no final loss: " + result.reason, dense_,
                       "frozen runs are compared with it, so it must finish and be evaluated");
  return true;
}

bool SeedRuns::run(const Branches& branches) {
  const Index steps = sim::LogReader(dense_).steps().back().step;
  if (!branches.empty() && branches.rbegin()->first >= steps) {
    throw ConfigError(
        "the run would never be frozen",
        "freeze after " + std::to_string(branches.rbegin()->first) + " of " + std::to_string(steps) + " steps",
        "freeze earlier, or train longer");
  }
  Branches missing;
  for (const auto& [step, arms] : branches) {
    for (const Arm* arm : arms) {
      if (!is_done(*arm, step)) missing[step].push_back(arm);
    }
  }
  if (missing.empty()) return true;
  return branches_ ? run_branches(missing) : run_whole(missing);
}

analysis::DenseTrial SeedRuns::dense() const {
  return {config_.seed, outcome_of(dense_, target_)};
}

analysis::FreezeOutcome SeedRuns::outcome(const Arm& arm, Index step) const {
  return outcome_of(path_of(arm, step), target_);
}

std::string SeedRuns::label(const std::string& what) const {
  return what + " seed " + std::to_string(config_.seed);
}

std::string SeedRuns::label_of(const Arm& arm, Index step) const {
  return label(arm.name + " at " + std::to_string(step));
}

std::string SeedRuns::path_of(const Arm& arm, Index step) const {
  return study_.folder + "/" + arm.name + "-" + std::to_string(step) + "-" + std::to_string(config_.seed) + ".h5";
}

sim::RunConfig SeedRuns::branch_config(const Arm& arm, Index step) const {
  return frozen_config(arm.settings, seed_, step);
}

/// Whether the continuation's log is complete; an incomplete one is removed.
bool SeedRuns::is_done(const Arm& arm, Index step) const {
  const std::string path = path_of(arm, step);
  if (!fs::exists(path)) return false;
  const sim::RunConfig config = branch_config(arm, step);
  if (resume_decision(study_.training.output, config, path).done) {
    completed(path, config);
    return true;
  }
  fs::remove(path);
  sim::prune_checkpoints(path, 0);
  return false;
}

bool SeedRuns::run_whole(const Branches& missing) {
  for (const auto& [step, arms] : missing) {
    for (const Arm* arm : arms) {
      const std::string path = path_of(*arm, step);
      const sim::RunResult result = run_and_log(sim::prepare(branch_config(*arm, step)), path, sim::Existing::refuse,
                                                study_.training, label_of(*arm, step))
                                        .result;
      if (!went_on(result, path)) return false;
    }
  }
  return true;
}

bool SeedRuns::run_branches(const Branches& missing) {
  sim::VirtualCluster prefix = sim::prepare(config_).start();
  const std::vector<sim::StepRow> logged = sim::LogReader(dense_).steps();
  for (const auto& [step, arms] : missing) {
    while (prefix.step() < step - 1) {
      if (study_.training.watcher.stop_requested()) return false;
      const sim::StepOutcome outcome = prefix.advance();
      if (outcome.loss != logged[static_cast<std::size_t>(outcome.step - 1)].loss)
        throw Error("repeating the dense steps gave a different loss", dense_,
                    "check that the model draws no random numbers of its own");
    }
    const Branching branching(study_.folder + "/dense-prefix-" + std::to_string(config_.seed), prefix);
    for (const Arm* arm : arms) {
      if (!branch(*arm, step, branching.path())) return false;
    }
  }
  return true;
}

bool SeedRuns::branch(const Arm& arm, Index step, const std::string& checkpoint) const {
  const sim::PreparedRun run = sim::prepare(branch_config(arm, step));
  sim::VirtualCluster cluster = run.start();
  sim::read_checkpoint(checkpoint, cluster);
  const std::string path = path_of(arm, step);
  return went_on(
      branch_and_log(cluster, run.config, path, study_.training, label_of(arm, step), sim::LogReader(dense_)), path);
}

bool SeedRuns::went_on(const sim::RunResult& result, const std::string& path) {
  if (result.status == sim::RunStatus::failed) throw Error(result.reason, path);
  return result.status != sim::RunStatus::stopped;
}

}  // namespace onebit::experiments
