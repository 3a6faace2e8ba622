#include <filesystem>
#include <iostream>

#include "device/base/error.hpp"
#include "device/comm/process_group.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/deepspeed_batch.hpp"
#include "experiments/output/analysis/deepspeed_output.hpp"
#include "experiments/output/pricing/memory_output.hpp"
#include "experiments/output/run_output.hpp"
#include "experiments/output/summary_output.hpp"
#include "experiments/study/log_settings.hpp"
#include "experiments/study/resume.hpp"
#include "sim/run/weights_file.hpp"

namespace onebit::experiments {
namespace {

struct Options : CommandInput {
  std::string out;
  OutputPolicy output;
  bool json = false, dry_run = false, progress = false;
};

std::vector<Option<Options>> rows() {
  return {out_row<Options>("file for the log", made_up_form("run", ".h5")),
          field<Options>("weights-out", "write the final weights to this file", ONEBIT_PLACE(output.weights_out)),
          json_row<Options>(),
          dry_run_row<Options>(),
          overwrite_row<Options>(ONEBIT_PLACE(output.overwrite)),
          resume_row<Options>(),
          resume_allow_row<Options>(),
          progress_row<Options>()};
}

void print_plan(const sim::PreparedRun& run, const Options& options) {
  if (options.json) {
    std::vector<std::pair<std::string, Json>> members;
    for (const auto& [name, value] : values_of(run.config)) members.emplace_back(name, value);
    members.emplace_back("memory_plan", to_json(run.plan));
    std::cout << with_deepspeed(Json::object(members), options.run).text() << "\n";
    return;
  }
  print_deepspeed(options.run, std::cout);
  Table table({"option", "value"}, 2);
  for (const auto& [name, value] : values_of(run.config)) table.add({name, value});
  table.print(std::cout);
  std::cout << "\n";
  print_memory(run, std::cout);
  print_evaluations(run, std::cout);
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
int report(const Options& options, const TrainedRun& trained, std::vector<std::pair<std::string, Json>> members) {
  const analysis::Summary summary = analysis::summarize(sim::LogReader(options.out), shown_clusters());
  const bool over_ranks = device::mpi_environment().size > 1;
  if (over_ranks) members.emplace_back("ranks", shares_json(trained.shares));
  if (options.json) {
    Json json = to_json(summary);
    for (const auto& [name, value] : members) json = json.with(name, value);
    std::cout << with_deepspeed(json, options.run).text() << "\n";
  } else {
    print_deepspeed(options.run, std::cout);
    print_summary(summary, std::cout);
    if (over_ranks) print_shares(trained.shares);
    print_answer(summary, std::cout);
  }
  const sim::RunResult& result = trained.result;
  if (result.status == sim::RunStatus::diverged || result.status == sim::RunStatus::failed) {
    print_error(result.reason);
  }
  if (result.status == sim::RunStatus::stopped) tell_how_to_continue(options, options.out, "--resume");
  return exit_status(result.status);
}

/// Returns how to train. The command in the log names the file for the weights even if only a file of options names it,
/// because a bare --resume takes the name from there.
Training training_with(const Options& options, const OutputPolicy& policy) {
  Training training = training_of(options, policy, options.progress);
  std::string& command = training.origin.command_line;
  const bool named = command.find(" --weights-out") != std::string::npos;
  if (!named && !policy.weights_out.empty()) command += " --weights-out " + policy.weights_out;
  return training;
}

/// Trains a run. from_log: what it takes from the log that it continues, besides the given options.
int train(const Options& options, const FromLog& from_log) {
  const sim::RunConfig config = make_config(joined(from_log, options.run.settings));
  if (options.run.deepspeed) check_batch(*options.run.deepspeed, config);
  const bool is_root = device::mpi_environment().rank == 0;
  if (is_root && !options.dry_run) check_folder_of(options.out);
  if (is_root && !options.output.weights_out.empty()) {
    // This file is left over if the run was killed while it wrote its weights.
    if (options.output.resume && std::filesystem::exists(options.out))
      std::filesystem::remove(options.output.weights_out + ".part");
    sim::check_weights_output(options.output.weights_out, options.out,
                              options.output.overwrite || options.output.resume);
  }
  OutputPolicy policy = options.output;
  policy.given = options.run.settings;
  const ResumeDecision decision = agreed_decision(policy, config, options.out);
  if (decision.done && !options.dry_run) {
    if (!is_root) return kExitDone;  // the log is on the machine of rank 0
    const TrainedRun trained{completed(options.out, config), {}};
    const bool diverged = trained.result.status == sim::RunStatus::diverged;
    say("nothing to do: the run of " + options.out + (diverged ? " diverged" : " is finished"));
    return report(options, trained, {});
  }
  if (is_root && !from_log.empty()) say(text_of(from_log, options.out));
  const sim::PreparedRun run = sim::prepare(continued(config, decision));
  if (is_root) warn_of(idle_options(given_options(options.run), {{config}}));
  if (options.dry_run) {
    if (is_root) print_plan(run, options);
    return kExitDone;
  }
  install_stop_handler();
  tell_made_up_name(options, options.out);
  const auto begin = [&] {
    if (options.json) return;
    print_start(run, std::cout);
    std::cout << std::endl;
  };
  const TrainedRun trained =
      run_and_log(run, options.out, decision.existing, training_with(options, policy), config.optimizer.name, begin);
  if (!is_root) return exit_status(trained.result.status);
  return report(options, trained, {{"memory_plan", to_json(run.plan)}});
}

int run(const Options& options) {
  refuse_arguments(options);
  if (options.out.empty() && !options.dry_run)
    return run(with_made_up_name(options, "run", ".h5", options.output.resume ? "--resume" : ""));
  if (!options.output.resume || options.out.empty()) return train(options, {});
  const bool weights_given = !options.output.weights_out.empty();
  const FromLog from_log = agreed_from_log(options.out, options.run.settings, weights_given);
  Options whole = options;
  if (!weights_given) whole.output.weights_out = from_log.weights_out;
  return train(whole, from_log);
}

}  // namespace

Command run_command() {
  return make_command(
      {.name = "run",
       .doc = "train one run and log it",
       .accepts = {.run = true, .config = true, .preset = true, .deepspeed = true, .ranks = true},
       .help = {.common = {"out",      "preset",  "config", "model",     "data",         "data.path", "workers",
                           "batch",    "steps",   "seed",   "optimizer", "optimizer.lr", "freeze",    "codec",
                           "schedule", "devices", "resume", "overwrite", "dry-run",      "json"},
                .examples = {"onebit run --model mlp --data synthetic --steps 200 -o adam.h5",
                             "onebit run --data.path texts --optimizer onebit-adam --lr 3e-3 --steps 500"}}},
      rows(), run);
}

}  // namespace onebit::experiments
