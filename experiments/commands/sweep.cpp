#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <thread>

#include "device/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/deepspeed_output.hpp"
#include "experiments/session.hpp"
#include "experiments/sweep/folder.hpp"
#include "experiments/sweep/output.hpp"
#include "experiments/sweep/session.hpp"

namespace onebit::experiments {
namespace {

void check(const CommandLine& line) {
  if (!line.arguments.empty())
    throw ConfigError("unexpected argument", line.arguments.front(), "options begin with --");
  check_seeds(line);
  if (line.out.empty()) throw ConfigError("no output folder", "sweep", "give -o DIR");
}

/// One thread for each run, unless --threads says more.
Settings execution_with_threads(const CommandLine& line) {
  Settings execution = {{"threads", "1"}};
  for (auto& setting : execution_of(line)) execution.push_back(std::move(setting));
  return execution;
}

/// As many runs as keep every core busy and none with two.
Index default_jobs(const sim::RunConfig& config) {
  const Index cores = std::max<Index>(1, std::thread::hardware_concurrency());
  return config.threads > 0 ? std::max<Index>(1, cores / config.threads) : 1;
}

SweepSetup setup_of(const CommandLine& line) {
  SweepSetup setup;
  setup.folder = line.out;
  setup.definitions = definitions_in(line.out, definition_of(line), line.points.extend, false);
  setup.execution = execution_with_threads(line);
  setup.shard = parse_shard(line.points.shard);
  sim::RunConfig execution;
  for (const auto& [name, value] : setup.execution) run_option(name).set(execution, value);
  setup.limits = {.jobs = line.points.jobs > 0 ? line.points.jobs : default_jobs(execution),
                  .memory = execution.memory,
                  .time_limit = line.points.time_limit,
                  .retries = line.points.retries};
  setup.retry_failed = line.points.retry_failed;
  setup.board = line.progress || isatty(STDERR_FILENO) == 1;
  return setup;
}

int show_plan(SweepSession& session, const CommandLine& line) {
  const std::map<std::string, PointPlan> plans = session.plans();
  if (line.json) {
    std::cout << with_deepspeed(plan_json(session.points(), plans), line).text() << "\n";
  } else {
    print_deepspeed(line, std::cout);
    print_plan(session.points(), session.results(), plans, std::cout);
  }
  return kExitDone;
}

void show_results(SweepSession& session, const std::vector<PointResult>& results, const CommandLine& line) {
  const std::string index = line.out + "/index.csv";
  const std::vector<Grid> grids = grids_of(session.arms(), session.losses());
  if (line.json) {
    const Json json = Json::object({{"index", index},
                                    {"points", to_json(session.points(), results)},
                                    {"tuned", to_json(grids)},
                                    {"run_seconds", session.child_seconds()}});
    std::cout << with_deepspeed(json, line).text() << "\n";
    return;
  }
  print_deepspeed(line, std::cout);
  print_points(session.points(), results, index, std::cout);
  print_grids(grids, std::cout);
}

/// A diverged run is a result; one that failed is a failure, once all others are done.
int sweep_status(const std::vector<PointResult>& results, bool complete) {
  if (!complete) {
    std::cerr << "onebit: stopped; the same command goes on\n";
    return kExitStopped;
  }
  const auto failed = std::count_if(results.begin(), results.end(), [](const PointResult& result) {
    return result.status == PointStatus::failed || result.status == PointStatus::timeout;
  });
  if (failed == 0) return kExitDone;
  std::cerr << "onebit: error: " << failed << " of " << results.size()
            << " points failed; --retry-failed tries them again\n";
  return kExitFailed;
}

}  // namespace

int sweep_command(const CommandLine& line) {
  check(line);
  watch_children();
  SweepSession session(setup_of(line));
  if (line.dry_run) return show_plan(session, line);
  session.plans();  // every point is checked before the folder is touched
  const Shard shard = parse_shard(line.points.shard);
  if (shard.of_slurm) std::cerr << "onebit: shard " << shard.text() << " by SLURM_PROCID and SLURM_NTASKS\n";
  make_folder(line.out);
  install_stop_handler();
  definitions_in(line.out, definition_of(line), line.points.extend, true);
  const bool complete = session.run();
  const std::vector<PointResult> results = session.results();
  show_results(session, results, line);
  return sweep_status(results, complete);
}

}  // namespace onebit::experiments
