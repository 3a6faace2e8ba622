#include <iostream>
#include <optional>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/idle_options.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/output/deepspeed_output.hpp"
#include "experiments/output/pictures.hpp"
#include "experiments/output/summary_output.hpp"
#include "experiments/study/arm_runs.hpp"
#include "experiments/study/comparison.hpp"

namespace onebit::experiments {
namespace {

void check(const CommandLine& line) {
  if (!line.arguments.empty())
    throw ConfigError("unexpected argument", line.arguments.front(), "options begin with --");
  if (line.out.empty()) throw ConfigError("no output folder", "compare", "give -o DIR");
  files::check_output(line.out + "/runs.csv", true);
}

/// Compares the arms by their logs. None where there is only one seed or one arm. Throws ConfigError where the arms
/// cannot be compared.
std::optional<analysis::Comparison> judged(const CommandLine& line, const std::vector<ArmRuns>& results) {
  if (line.seeds < 2 || results.size() < 2) return std::nullopt;
  std::vector<analysis::Arm> arms;
  for (const ArmRuns& result : results) {
    arms.push_back({result.name, {}, {}});
    for (const analysis::Summary& run : result.runs) arms.back().runs.push_back(analysis::read_run(run.path));
    arms.back().options = analysis::arm_options(arms.back().runs.front());
  }
  return analysis::compare(arms, {.margin = line.margin.value_or(analysis::default_margin)});
}

void print_judged(const CommandLine& line, const std::vector<ArmRuns>& results) {
  try {
    if (const auto comparison = judged(line, results)) print_verdicts(*comparison, std::cout);
  } catch (const ConfigError& error) {
    std::cout << "\nno verdicts: " << error.what() << "\n";
  }
}

Json with_verdicts(const Json& json, const CommandLine& line, const std::vector<ArmRuns>& results) {
  try {
    const auto comparison = judged(line, results);
    return comparison ? json.with("comparison", to_json(*comparison)) : json;
  } catch (const ConfigError& error) {
    return json.with("no_verdicts", std::string(error.what()));
  }
}

/// Returns the exit status. A diverged run is a result; one that did not do what it was asked to is a failure.
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
  const Index examples = check_arms(line, arms, prices);
  warn_of(idle_price_options(line.price, price));
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
  const auto [results, complete] = run_arms(line, arms, prices, examples);
  write_csv(results, line.out + "/runs.csv");
  const RunTimes times = times_of(results, prices);
  if (!line.json) {
    print_deepspeed(line, std::cout);
    print_comparison(results, times, std::cout);
    print_judged(line, results);
  }
  // Pictures of time are drawn only for clusters that were requested.
  const std::vector<std::string> pictures = draw_pictures(results, times, price.names_clusters, line.out);
  if (line.json) {
    const Json json = with_verdicts(to_json(results, times, pictures), line, results);
    std::cout << with_deepspeed(json, line).text() << "\n";
  } else {
    print_pictures(pictures, std::cout);
  }
  return comparison_status(results, complete);
}

}  // namespace onebit::experiments
