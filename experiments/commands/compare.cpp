#include <iostream>

#include "device/error.hpp"
#include "experiments/arm_runs.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/comparison.hpp"
#include "experiments/deepspeed_output.hpp"
#include "experiments/pictures.hpp"
#include "experiments/session.hpp"
#include "experiments/summary_output.hpp"

namespace onebit::experiments {
namespace {

void check(const CommandLine& line) {
  if (!line.arguments.empty())
    throw ConfigError("unexpected argument", line.arguments.front(), "options begin with --");
  if (line.out.empty()) throw ConfigError("no output folder", "compare", "give -o DIR");
}

/// Pictures of time are drawn for clusters that were asked for.
ArmClocks without_clusters(const ArmClocks& clocks) {
  return ArmClocks(clocks.size());
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
  check_arms(line, arms, prices);
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
  const auto [results, complete] = run_arms(line, arms, prices);
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
    print_pictures(pictures, std::cout);
  }
  return comparison_status(results, complete);
}

}  // namespace onebit::experiments
