#include "experiments/arm_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "device/error.hpp"
#include "experiments/resume.hpp"
#include "experiments/session.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

std::string log_path(const CommandLine& line, const Arm& arm, std::uint32_t seed) {
  return line.out + "/" + arm.name + "-" + std::to_string(seed) + ".h5";
}

sim::RunConfig with_seed(sim::RunConfig config, Index s) {
  config.seed += static_cast<std::uint32_t>(s);
  return config;
}

/// False: stopped by a signal.
bool run_arm(const CommandLine& line, const Arm& arm, const Prices& prices, ArmRuns& result) {
  for (Index s = 0; s < line.seeds; ++s) {
    const sim::RunConfig config = with_seed(make_config(arm.settings), s);
    const std::string path = log_path(line, arm, config.seed);
    const Beginning beginning = beginning_of(line, config, path);
    const sim::RunResult run = beginning.done ? result_of(path)
                                              : run_and_log(sim::prepare(config), path, beginning.existing, line,
                                                            arm.name + " seed " + std::to_string(config.seed))
                                                    .result;
    result.runs.push_back(analysis::summarize(sim::LogReader(path), prices.clusters, *prices.model));
    if (run.status == sim::RunStatus::stopped) return false;
  }
  return true;
}

}  // namespace

Prices prices_of(const PriceConfig& config) {
  Prices prices;
  std::vector<std::string> names;
  for (const std::string& name : config.clusters) {
    prices.clusters.push_back(load_cluster(name, config.cluster_settings));
    names.push_back(prices.clusters.back().name);
    if (std::count(names.begin(), names.end(), names.back()) > 1) {
      throw ConfigError("two clusters of one name", names.back(), "pictures are called by it");
    }
  }
  prices.model = netmodel::make_cost_model(config.cost_model);
  if (!config.workload.empty()) load_workload(config.workload);
  return prices;
}

void check_arms(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices) {
  check_seeds(line);
  for (const Arm& arm : arms) {
    const sim::RunConfig config = make_config(arm.settings);
    if (line.seeds > 1 && config.seed > std::numeric_limits<std::uint32_t>::max() - (line.seeds - 1)) {
      throw ConfigError("seeds run past the largest seed", "seed " + std::to_string(config.seed), "4294967295");
    }
    const Index workers = sim::prepare(config).config.workers;
    for (const netmodel::Cluster& cluster : prices.clusters) netmodel::Fabric(cluster, workers);
    for (Index s = 0; s < line.seeds; ++s) {
      const std::string path = log_path(line, arm, config.seed + static_cast<std::uint32_t>(s));
      if (fs::exists(path) && !line.overwrite && !line.resume) {
        throw ConfigError("output exists", path, "give --overwrite, --resume or another -o DIR");
      }
      beginning_of(line, with_seed(config, s), path);
    }
  }
}

ArmResults run_arms(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices) {
  make_folder(line.out);
  install_stop_handler();
  ArmResults results;
  for (const Arm& arm : arms) {
    results.arms.push_back({arm.name, {}});
    results.complete = run_arm(line, arm, prices, results.arms.back());
    if (!results.complete) break;
  }
  return results;
}

}  // namespace onebit::experiments
