#include "experiments/study/arm_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "device/base/error.hpp"
#include "device/device.hpp"
#include "experiments/study/resume.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

std::string log_path(const Study& study, const Arm& arm, std::uint32_t seed) {
  return study.folder + "/" + arm.name + "-" + std::to_string(seed) + ".h5";
}

sim::RunConfig with_seed(sim::RunConfig config, Index s) {
  config.seed += static_cast<std::uint32_t>(s);
  return config;
}

Index parameters_of(const sim::PreparedRun& run) {
  const device::Device counting = device::parse_devices("cpu", 1).front().plan();
  return sim::make_model(counting, run.config.model, *run.resources.data)->parameters();
}

/// Trains arm `a`. Returns false if a signal stopped it.
bool run_arm(const Study& study, const std::vector<Arm>& arms, std::size_t a, Index examples, sim::DataCache& data,
             analysis::Arm& result) {
  const Arm& arm = arms[a];
  for (Index s = 0; s < study.seeds; ++s) {
    sim::RunConfig config = with_seed(make_config(arm.settings), s);
    const std::string path = log_path(study, arm, config.seed);
    const ResumeDecision decision = resume_decision(study.training.output, config, path);
    config = continued(config, decision);
    if (config.eval.examples == 0) config.eval.examples = examples;
    const sim::RunResult run =
        decision.done ? completed(path, config)
                      : run_and_log(sim::prepare(config, data), path, decision.existing, study.training,
                                    watched_name(arm.name, config.seed, static_cast<Index>(a) * study.seeds + s,
                                                 std::ssize(arms) * study.seeds))
                            .result;
    result.runs.push_back(analysis::load_run(sim::LogReader(path)));
    if (run.status == sim::RunStatus::stopped) return false;
  }
  return true;
}

}  // namespace

Index check_arms(const Study& study, const std::vector<Arm>& arms, const Prices& prices, sim::DataCache& data) {
  Index examples = sim::kMostEvaluated;
  std::optional<Index> begun;  // examples per evaluation of logs that are resumed
  std::vector<std::string> logs;
  for (const Arm& arm : arms) {
    const sim::RunConfig config = make_config(arm.settings);
    if (study.seeds > 1 && config.seed > std::numeric_limits<std::uint32_t>::max() - (study.seeds - 1)) {
      throw ConfigError("the last seed would be too large", "seed " + std::to_string(config.seed),
                        "the largest seed is 4294967295");
    }
    const sim::PreparedRun run = sim::prepare(config, data);
    if (config.eval.examples == 0) examples = std::min(examples, run.config.eval.examples);
    for (const netmodel::Cluster& cluster : prices.clusters) netmodel::Fabric(cluster, run.config.workers);
    if (prices.rules.workload) analysis::check_fits(*prices.rules.workload, parameters_of(run), "arm " + arm.name);
    for (Index s = 0; s < study.seeds; ++s) {
      const std::string path = log_path(study, arm, config.seed + static_cast<std::uint32_t>(s));
      if (fs::exists(path) && !study.training.output.overwrite && !study.training.output.resume) {
        throw ConfigError("output exists", path, "give --overwrite, --resume or another -o DIR");
      }
      logs.push_back(path);
      const ResumeDecision decision = resume_decision(study.training.output, with_seed(config, s), path);
      if (config.eval.examples == 0 && decision.eval_examples > 0) begun = decision.eval_examples;
    }
  }
  warn_of_idle_options(study, given_runs(study.run, arms));
  warn_of_other_logs(study, logs);
  return begun.value_or(examples);
}

std::string watched_name(const std::string& arm, std::uint32_t seed, Index before, Index all) {
  const std::string name = arm + " seed " + std::to_string(seed);
  return all == 1 ? name : name + ", run " + std::to_string(before + 1) + " of " + std::to_string(all);
}

ArmResults run_arms(const Study& study, const std::vector<Arm>& arms, Index examples, sim::DataCache& data) {
  make_folder(study.folder);
  study.training.watcher.on_start();
  ArmResults results;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    results.arms.push_back({arms[a].name, {}, {}});
    results.complete = run_arm(study, arms, a, examples, data, results.arms.back());
    results.arms.back().options = analysis::arm_options(results.arms.back().runs.front());
    if (!results.complete) break;
  }
  return results;
}

}  // namespace onebit::experiments
