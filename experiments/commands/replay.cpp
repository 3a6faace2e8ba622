#include <algorithm>
#include <cmath>
#include <iostream>

#include "device/base/error.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/output.hpp"
#include "experiments/study/reference_case.hpp"
#include "experiments/study/replay_log.hpp"
#include "experiments/study/sign_statistics.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kAllCases = "all";

struct Options : CommandInput {
  std::string out;
  std::string log;
  std::string reference;          ///< case of the trace, or kAllCases; empty: nothing is compared
  std::optional<double> penalty;  ///< no value: the case's, or 0
  bool json = false, overwrite = false;
};

std::vector<Option<Options>> rows() {
  return {out_row<Options>("file for the parameters after every step"),
          field<Options>("log",
                         "file for the log, in the format of a run's log; without this option, -o and --reference: " +
                             made_up_form("replay", ".h5"),
                         ONEBIT_PLACE(log)),
          field<Options>("reference",
                         "case of the trace, or all: use its hyper-parameters and compare with its recorded "
                         "parameters",
                         ONEBIT_PLACE(reference)),
          field<Options>("penalty",
                         "add this multiple of the weights to every gradient (L2 penalty); not given: "
                         "the case's",
                         ONEBIT_PLACE(penalty)),
          json_row<Options>(),
          overwrite_row<Options>(ONEBIT_PLACE(overwrite))};
}

/// Refuses options of the model and of the data, which have no meaning here, and those of the log if none is written.
/// The trace determines the number of steps and of workers; the latter may also be 1.
void check_options(const Options& options, const sim::GradientTrace& trace) {
  for (const auto& [name, value] : options.run.settings) {
    if (is_of_replay(name)) continue;
    if (name == "workers" && (value == std::to_string(trace.workers()) || value == "1")) continue;
    if (name == "steps" && value == std::to_string(trace.steps())) continue;
    if (name.starts_with("log.")) {
      if (!options.log.empty()) continue;
      throw ConfigError("the replay writes no log", name + " " + value, "give --log FILE.h5 too");
    }
    if (name != "workers" && name != "steps")
      throw ConfigError("option has no meaning in a replay", name + " " + value, "leave it out");
    throw ConfigError("the trace determines this option", name + " " + value,
                      "the trace has " + std::to_string(trace.workers()) + " workers and " +
                          std::to_string(trace.steps()) + " steps; --workers 1 takes the mean of their gradients");
  }
}

using Members = std::vector<std::pair<std::string, Json>>;

void add(const CaseDeviation& deviation, Members& members) {
  members.emplace_back("worst_relative_difference", deviation.first.worst);
  members.emplace_back("worst_step", deviation.first.step);
  if (!deviation.has_all) return;
  members.emplace_back("worst_relative_difference_all_workers", deviation.all.worst);
  members.emplace_back("worst_step_all_workers", deviation.all.step);
}

std::string difference_text(const Deviation& deviation) {
  return std::isfinite(deviation.worst) ? number(deviation.worst, 3) : "infinite";
}

/// Prints what a compact trace shows.
void print_compact(const sim::GradientTrace& trace) {
  if (const std::optional<SignStatistics> signs = sign_statistics(trace)) {
    std::cout << "signs of the mean gradient: " << number(100 * signs->changes, 3)
              << "% change from one step to the next; a sign codec leaves a relative error of "
              << number(signs->error, 3) << "\n";
  }
  std::cout << "the trace holds norms only: the log shows when the variance may be frozen, but holds no bytes, codec "
               "errors or parameters\n";
}

void print(const Options& options, const sim::GradientTrace& trace, Index workers, const CaseDeviation& deviation) {
  if (options.json) {
    Members members = {{"steps", trace.steps()}, {"workers", workers}, {"parameters", trace.parameters()},
                       {"out", options.out},     {"log", options.log}, {"compact", Json::boolean(trace.compact())}};
    if (const std::optional<SignStatistics> signs = sign_statistics(trace)) {
      members.emplace_back("sign_changes", signs->changes);
      members.emplace_back("sign_error", signs->error);
    }
    if (!options.reference.empty()) {
      members.emplace_back("reference", options.reference);
      add(deviation, members);
    }
    std::cout << Json::object(members).text() << "\n";
    return;
  }
  std::cout << "replayed " << trace.steps() << " steps, ";
  if (trace.compact()) {
    std::cout << "norms of " << trace.tensor_sizes().size() << " tensors\n";
  } else {
    std::cout << workers << (workers == 1 ? " worker, " : " workers, ") << trace.parameters() << " parameters\n";
  }
  if (!options.out.empty()) std::cout << "parameters in " << options.out << "\n";
  if (!options.log.empty()) std::cout << "log in " << options.log << "\n";
  if (trace.compact()) print_compact(trace);
  if (options.reference.empty()) return;
  std::cout << "largest relative difference between the displacements of the replay and of " << options.reference
            << ": " << difference_text(deviation.first) << " at step " << deviation.first.step << "\n";
  if (!deviation.has_all) return;
  std::cout << "largest relative difference between all workers' displacements and the ones in params_all_workers: "
            << difference_text(deviation.all) << " at step " << deviation.all.step << "\n";
}

/// A row of the table of cases: the deviation from the reference, or the reason why the case was not replayed.
struct CaseRow {
  std::string name;
  sim::RunConfig config;
  CaseDeviation deviation;
  std::string reason;
};

CaseRow replay_row(const Options& options, const std::string& name) {
  CaseRow row{name, {}, {}, {}};
  try {
    const sim::GradientTrace trace(options.arguments.front(), name);
    check_options(options, trace);
    const ReplayPlan plan = plan_replay(trace, name, options.run.settings, options.penalty);
    row.deviation = replay_case(trace, plan, name);
    row.config = plan.config;
  } catch (const ConfigError& error) {
    row.reason = error.what();
  }
  return row;
}

Json to_json(const CaseRow& row) {
  Members members = {{"reference", row.name}};
  if (row.reason.empty()) {
    members.emplace_back("optimizer", row.config.optimizer.name);
    add(row.deviation, members);
  } else {
    members.emplace_back("not_replayed", row.reason);
  }
  return Json::object(members);
}

void print(const std::vector<CaseRow>& rows) {
  Table table({"case", "optimizer", "largest difference", "at step", "all workers", "at step"}, 2);
  for (const CaseRow& row : rows) {
    if (!row.reason.empty()) continue;
    const CaseDeviation& deviation = row.deviation;
    table.add({row.name, row.config.optimizer.name, difference_text(deviation.first),
               std::to_string(deviation.first.step), deviation.has_all ? difference_text(deviation.all) : "-",
               deviation.has_all ? std::to_string(deviation.all.step) : "-"});
  }
  std::cout << "largest relative difference between the displacements of the replay and of the reference\n";
  table.print(std::cout);
  for (const CaseRow& row : rows) {
    if (!row.reason.empty()) std::cout << "not replayed: " << row.name << ": " << row.reason << "\n";
  }
}

/// Replays every case of the trace and prints a table. Throws ConfigError if none can be replayed.
void replay_all(const Options& options, const std::vector<std::string>& names) {
  for (const auto& [name, file] : {std::pair{"out ", options.out}, std::pair{"log ", options.log}}) {
    if (!file.empty()) throw ConfigError("one file cannot hold all cases", name + file, "name one case");
  }
  if (names.empty()) throw ConfigError("the trace has no cases", options.arguments.front());
  make_config(options.run.settings);  // an error that concerns every case is thrown, not listed per case
  std::vector<CaseRow> rows;
  for (const std::string& name : names) rows.push_back(replay_row(options, name));
  if (std::ranges::none_of(rows, [](const CaseRow& row) { return row.reason.empty(); })) {
    throw ConfigError("no case of the trace can be replayed", names.front() + ": " + rows.front().reason);
  }
  std::vector<GivenRun> runs;
  for (const CaseRow& row : rows) {
    if (row.reason.empty()) runs.push_back({row.config});
  }
  warn_of(idle_options(given_options(options.run), runs));
  if (!options.json) return print(rows);
  std::vector<Json> items;
  for (const CaseRow& row : rows) items.push_back(to_json(row));
  std::cout << Json::object({{"cases", Json::array(items)}}).text() << "\n";
}

int replay(const Options& options) {
  if (options.arguments.size() != 1) throw ConfigError("give one trace", "replay", "onebit replay TRACE.h5 [options]");
  if (options.out.empty() && options.log.empty() && options.reference.empty()) {
    Options named = options;
    named.log = made_up_name("replay", ".h5", "");
    named.made_up_name = true;
    return replay(named);
  }
  if (!options.out.empty() && options.out == options.log)
    throw ConfigError("one file cannot hold the parameters and the log", options.out, "give -o another name");
  if (options.reference == kAllCases) {
    replay_all(options, sim::GradientTrace(options.arguments.front()).cases());
    return kExitDone;
  }
  const sim::GradientTrace trace(options.arguments.front(), options.reference);
  check_options(options, trace);
  if (trace.compact() && !options.out.empty())
    throw ConfigError("a compact trace has no parameters", "out " + options.out, "give --log FILE.h5 instead");
  const ReplayPlan plan = plan_replay(trace, options.reference, options.run.settings, options.penalty);
  warn_of(idle_options(given_options(options.run), {{plan.config}}));
  if (options.made_up_name) say("the log is " + options.log + "; --log gives it another name");
  const ReplayOutput output{options.out, options.log, options.overwrite, training_of(options, {}, false).origin};
  print(options, trace, plan.config.workers, replay_case(trace, plan, options.reference, output));
  return kExitDone;
}

}  // namespace

Command replay_command() {
  return make_command(
      {.name = "replay",
       .usage = "TRACE.h5",
       .doc = "run an optimizer on recorded gradients",
       .accepts = {.run = true, .of_run = is_of_replay, .config = true, .preset = true},
       .help = {.common = {"log", "out", "reference", "optimizer", "optimizer.lr", "freeze", "codec", "schedule",
                           "penalty", "overwrite", "json"},
                .examples = {"onebit replay trace.h5 --optimizer onebit-adam --lr 1e-3 --log replayed.h5",
                             "onebit replay trace.h5 --reference all"}}},
      rows(), replay);
}

}  // namespace onebit::experiments
