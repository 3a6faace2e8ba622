#include <iostream>

#include "device/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/deepspeed_output.hpp"
#include "experiments/session.hpp"
#include "experiments/summary_output.hpp"

namespace onebit::experiments {
namespace {

void print_plan(const sim::RunConfig& config, const CommandLine& line) {
  if (line.json) {
    std::vector<std::pair<std::string, Json>> members;
    for (const auto& [name, value] : values_of(config)) members.emplace_back(name, value);
    std::cout << with_deepspeed(Json::object(members), line).text() << "\n";
    return;
  }
  print_deepspeed(line, std::cout);
  Table table({"option", "value"}, 2);
  for (const auto& [name, value] : values_of(config)) table.add({name, value});
  table.print(std::cout);
}

}  // namespace

int run_command(const CommandLine& line) {
  if (!line.arguments.empty())
    throw ConfigError("unexpected argument", line.arguments.front(), "options begin with --");
  const sim::RunConfig config = make_config(line.run);
  if (line.dry_run) {
    sim::VirtualCluster checked(config);
    print_plan(config, line);
    return kExitDone;
  }
  if (line.out.empty()) throw ConfigError("no output file", "run", "give -o FILE.h5");
  install_stop_handler();
  const sim::RunResult result = run_and_log(config, line.out, line, config.optimizer.name);
  const analysis::Summary summary = analysis::summarize(sim::LogReader(line.out), netmodel::clusters());
  if (line.json) {
    std::cout << with_deepspeed(to_json(summary), line).text() << "\n";
  } else {
    print_deepspeed(line, std::cout);
    print_summary(summary, std::cout);
  }
  if (result.status == sim::RunStatus::diverged || result.status == sim::RunStatus::failed) {
    std::cerr << "onebit: error: " << result.reason << "\n";
  }
  return exit_status(result.status);
}

}  // namespace onebit::experiments
