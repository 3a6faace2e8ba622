#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>

#include "analysis/plot.hpp"
#include "device/error.hpp"
#include "experiments/arms.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/comparison.hpp"
#include "experiments/deepspeed_output.hpp"
#include "experiments/resume.hpp"
#include "experiments/session.hpp"
#include "experiments/summary_output.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

void check(const CommandLine& line) {
  if (!line.arguments.empty())
    throw ConfigError("unexpected argument", line.arguments.front(), "options begin with --");
  if (line.seeds < 1 || line.seeds > 10000) {
    throw ConfigError("option out of range", "seeds " + std::to_string(line.seeds), "from 1 to 10000");
  }
  if (line.out.empty()) throw ConfigError("no output folder", "compare", "give -o DIR");
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!fs::is_directory(path)) throw ConfigError("cannot create output folder", path, error ? error.message() : "");
}

std::string log_path(const CommandLine& line, const Arm& arm, std::uint32_t seed) {
  return line.out + "/" + arm.name + "-" + std::to_string(seed) + ".h5";
}

/// What the runs are priced on, and how. All files are read before anything runs.
struct Prices {
  std::vector<netmodel::Cluster> clusters;
  std::unique_ptr<netmodel::CostModel> model;
};

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

sim::RunConfig with_seed(sim::RunConfig config, Index s) {
  config.seed += static_cast<std::uint32_t>(s);
  return config;
}

/// Nothing is trained before every configuration has been checked and every output is free.
void check_runs(const CommandLine& line, const std::vector<Arm>& arms, const Prices& prices) {
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

/// Pictures of time are drawn for clusters that were asked for.
ArmClocks without_clusters(const ArmClocks& clocks) {
  return ArmClocks(clocks.size());
}

void print_pictures(const std::vector<std::string>& pictures) {
  if (pictures.empty()) {
    std::cout << "\nno pictures: " << (analysis::has_gnuplot() ? "nothing to draw" : "gnuplot is not installed")
              << "\n";
    return;
  }
  std::cout << "\npictures\n";
  for (const std::string& picture : pictures) std::cout << "  " << picture << "\n";
}

/// A diverged run is a result; one that did not do what it was asked is a failure.
int comparison_status(const std::vector<ArmRuns>& results, bool complete) {
  int status = complete ? kExitDone : kExitStopped;
  for (const ArmRuns& arm : results) {
    for (const analysis::Summary& run : arm.runs) {
      if (run.status != sim::RunStatus::failed) continue;
      std::cerr << "onebit: error: " << run.reason << " (" << run.path << ")\n";
      status = kExitFailed;
    }
  }
  return status;
}

}  // namespace

int compare_command(const CommandLine& line) {
  check(line);
  const std::vector<Arm> arms = arms_of(line);
  const PriceConfig price = make_price_config(line.price);
  const Prices prices = prices_of(price);
  check_runs(line, arms, prices);
  if (line.dry_run) {
    std::vector<Json> names;
    for (const Arm& arm : arms) names.emplace_back(arm.name);
    if (line.json) {
      const Json plan = Json::object({{"arms", Json::array(names)}, {"seeds", line.seeds}});
      std::cout << with_deepspeed(plan, line).text() << "\n";
      return kExitDone;
    }
    print_deepspeed(line, std::cout);
    for (const Arm& arm : arms) std::cout << arm.name << ": " << line.seeds << " runs\n";
    return kExitDone;
  }
  make_folder(line.out);
  install_stop_handler();
  std::vector<ArmRuns> results;
  bool complete = true;
  for (const Arm& arm : arms) {
    results.push_back({arm.name, {}});
    complete = run_arm(line, arm, prices, results.back());
    if (!complete) break;
  }
  write_csv(results, line.out + "/runs.csv");
  ArmClocks clocks;
  for (const ArmRuns& arm : results) clocks.push_back(clocks_of(arm.runs.front().path, prices.clusters, price));
  if (!line.json) {
    print_deepspeed(line, std::cout);
    print_comparison(results, clocks, std::cout);
  }
  const std::vector<std::string> pictures =
      draw_pictures(results, price.names_clusters ? clocks : without_clusters(clocks), line.out);
  if (line.json) {
    std::cout << with_deepspeed(to_json(results, clocks, pictures), line).text() << "\n";
  } else {
    print_pictures(pictures);
  }
  return comparison_status(results, complete);
}

}  // namespace onebit::experiments
