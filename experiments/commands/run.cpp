#include <filesystem>
#include <iostream>

#include "device/base/error.hpp"
#include "device/comm/process_group.hpp"
#include "experiments/cli/resume.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/deepspeed_batch.hpp"
#include "experiments/options/idle_options.hpp"
#include "experiments/output/deepspeed_output.hpp"
#include "experiments/output/memory_output.hpp"
#include "experiments/output/summary_output.hpp"
#include "sim/run/weights_file.hpp"

namespace onebit::experiments {
namespace {

void print_evaluations(const sim::PreparedRun& run) {
  const sim::EvalConfig& eval = run.config.eval;
  const Index size = run.resources.data->size(eval.split);
  if (size == 0) return;
  std::cout << "evaluates " << std::min(eval.examples, size) << " of " << size << " examples every " << eval.every
            << " steps\n";
}

void print_plan(const sim::PreparedRun& run, const CommandLine& line) {
  if (line.json) {
    std::vector<std::pair<std::string, Json>> members;
    for (const auto& [name, value] : values_of(run.config)) members.emplace_back(name, value);
    members.emplace_back("memory_plan", to_json(run.plan));
    std::cout << with_deepspeed(Json::object(members), line).text() << "\n";
    return;
  }
  print_deepspeed(line, std::cout);
  Table table({"option", "value"}, 2);
  for (const auto& [name, value] : values_of(run.config)) table.add({name, value});
  table.print(std::cout);
  std::cout << "\n";
  print_memory(run, std::cout);
  print_evaluations(run);
}

Json shares_json(const std::vector<sim::RankShare>& shares) {
  std::vector<Json> rows;
  for (const sim::RankShare& share : shares) {
    rows.push_back(Json::object({{"first_worker", share.workers.first},
                                 {"workers", share.workers.count},
                                 {"bytes_received", share.bytes_received}}));
  }
  return Json::array(rows);
}

void print_shares(const std::vector<sim::RankShare>& shares) {
  Table table({"rank", "workers", "received"}, 2);
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    const sim::RankShare& share = shares[rank];
    table.add({std::to_string(rank),
               std::to_string(share.workers.first) + " to " + std::to_string(share.workers.end() - 1),
               bytes_text(static_cast<double>(share.bytes_received))});
  }
  std::cout << "\n";
  table.print(std::cout);
}

/// Prints a summary of the log and returns the exit status. members: additional members of the JSON object.
int report(const CommandLine& line, const Session& session, std::vector<std::pair<std::string, Json>> members) {
  const analysis::Summary summary = analysis::summarize(sim::LogReader(line.out), shown_clusters());
  const bool over_ranks = device::mpi_environment().size > 1;
  if (over_ranks) members.emplace_back("ranks", shares_json(session.shares));
  if (line.json) {
    Json json = to_json(summary);
    for (const auto& [name, value] : members) json = json.with(name, value);
    std::cout << with_deepspeed(json, line).text() << "\n";
  } else {
    print_deepspeed(line, std::cout);
    print_summary(summary, std::cout);
    if (over_ranks) print_shares(session.shares);
  }
  const sim::RunResult& result = session.result;
  if (result.status == sim::RunStatus::diverged || result.status == sim::RunStatus::failed) {
    std::cerr << "onebit: error: " << result.reason << "\n";
  }
  return exit_status(result.status);
}

}  // namespace

int run_command(const CommandLine& line) {
  if (!line.arguments.empty())
    throw ConfigError("unexpected argument", line.arguments.front(), "options begin with --");
  const sim::RunConfig config = make_config(line.run);
  if (line.deepspeed) check_batch(*line.deepspeed, config);
  if (line.out.empty() && !line.dry_run) throw ConfigError("no output file", "run", "give -o FILE.h5");
  const bool is_root = device::mpi_environment().rank == 0;
  if (is_root && !line.weights_out.empty()) {
    // A run that was killed while it wrote its weights left this file.
    if (line.resume && std::filesystem::exists(line.out)) std::filesystem::remove(line.weights_out + ".part");
    sim::check_weights_output(line.weights_out, line.out, line.overwrite || line.resume);
  }
  const ResumeDecision decision = agreed_decision(line, config, line.out);
  if (decision.done && !line.dry_run) {
    return is_root ? report(line, {result_of(line.out), {}}, {}) : kExitDone;  // the log is on the machine of rank 0
  }
  const sim::PreparedRun run = sim::prepare(continued(config, decision));
  if (is_root) warn_of_idle_options(line, {{config}});
  if (line.dry_run) {
    if (is_root) print_plan(run, line);
    return kExitDone;
  }
  install_stop_handler();
  const auto print_plan_of_memory = [&] {
    if (line.json) return;
    print_memory(run, std::cout);
    print_evaluations(run);
    std::cout << std::endl;
  };
  const Session session =
      run_and_log(run, line.out, decision.existing, line, config.optimizer.name, print_plan_of_memory);
  if (!is_root) return exit_status(session.result.status);
  return report(line, session, {{"memory_plan", to_json(run.plan)}});
}

}  // namespace onebit::experiments
