#include <algorithm>
#include <cmath>
#include <iostream>

#include "device/base/error.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/idle_options.hpp"
#include "experiments/output/output.hpp"
#include "experiments/study/reference_case.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kAllCases = "all";

/// Refuses options of the model, the data and the log, which mean nothing here. The trace decides the number of steps,
/// and of workers unless there is one for all.
void check_options(const Settings& settings, const sim::GradientTrace& trace) {
  const auto begins = [](const std::string& name) {
    return [&name](const char* word) { return name == word || name.starts_with(std::string(word) + "."); };
  };
  constexpr const char* used[] = {"optimizer", "codec",    "channel", "feedback",
                                  "freeze",    "schedule", "devices", "threads"};
  for (const auto& [name, value] : settings) {
    if (std::any_of(std::begin(used), std::end(used), begins(name))) continue;
    if (name == "workers" && (value == std::to_string(trace.workers()) || value == "1")) continue;
    if (name == "steps" && value == std::to_string(trace.steps())) continue;
    throw ConfigError("option has no meaning in a replay", name + " " + value,
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

void print(const CommandLine& line, const sim::GradientTrace& trace, const CaseDeviation& deviation) {
  if (line.json) {
    Members members = {
        {"steps", trace.steps()}, {"workers", trace.workers()}, {"parameters", trace.parameters()}, {"out", line.out}};
    if (!line.reference.empty()) {
      members.emplace_back("reference", line.reference);
      add(deviation, members);
    }
    std::cout << Json::object(members).text() << "\n";
    return;
  }
  std::cout << "replayed " << trace.steps() << " steps, " << trace.workers() << " workers, " << trace.parameters()
            << " parameters\n";
  if (!line.out.empty()) std::cout << "parameters in " << line.out << "\n";
  if (line.reference.empty()) return;
  std::cout << "worst relative difference of the displacement to " << line.reference << ": "
            << difference_text(deviation.first) << " at step " << deviation.first.step << "\n";
  if (!deviation.has_all) return;
  std::cout << "of all workers' to params_all_workers: " << difference_text(deviation.all) << " at step "
            << deviation.all.step << "\n";
}

/// A row of the table of cases: the deviation from the reference, or why the case was not replayed.
struct CaseRow {
  std::string name;
  sim::RunConfig config;
  CaseDeviation deviation;
  std::string reason;
};

CaseRow replay_row(const CommandLine& line, const std::string& name) {
  CaseRow row{name, {}, {}, {}};
  try {
    const sim::GradientTrace trace(line.arguments.front(), name);
    check_options(line.run, trace);
    const ReplayPlan plan = plan_replay(trace, name, line.run, line.penalty);
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
  Table table({"case", "optimizer", "worst difference", "at step", "all workers", "at step"}, 2);
  for (const CaseRow& row : rows) {
    if (!row.reason.empty()) continue;
    const CaseDeviation& deviation = row.deviation;
    table.add({row.name, row.config.optimizer.name, difference_text(deviation.first),
               std::to_string(deviation.first.step), deviation.has_all ? difference_text(deviation.all) : "-",
               deviation.has_all ? std::to_string(deviation.all.step) : "-"});
  }
  std::cout << "worst relative difference of the displacement\n";
  table.print(std::cout);
  for (const CaseRow& row : rows) {
    if (!row.reason.empty()) std::cout << "not replayed: " << row.name << ": " << row.reason << "\n";
  }
}

/// Replays every case of the trace and prints a table. Throws where none can be replayed.
void replay_all(const CommandLine& line, const std::vector<std::string>& names) {
  if (!line.out.empty()) throw ConfigError("one file cannot hold all cases", "out " + line.out, "name one case");
  if (names.empty()) throw ConfigError("the trace has no cases", line.arguments.front());
  make_config(line.run);  // an error that concerns every case is thrown, not listed per case
  std::vector<CaseRow> rows;
  for (const std::string& name : names) rows.push_back(replay_row(line, name));
  if (std::ranges::none_of(rows, [](const CaseRow& row) { return row.reason.empty(); })) {
    throw ConfigError("no case of the trace can be replayed", names.front() + ": " + rows.front().reason);
  }
  std::vector<GivenRun> runs;
  for (const CaseRow& row : rows) {
    if (row.reason.empty()) runs.push_back({row.config});
  }
  warn_of_idle_options(line, runs);
  if (!line.json) return print(rows);
  std::vector<Json> items;
  for (const CaseRow& row : rows) items.push_back(to_json(row));
  std::cout << Json::object({{"cases", Json::array(items)}}).text() << "\n";
}

}  // namespace

int replay_command(const CommandLine& line) {
  if (line.arguments.size() != 1) throw ConfigError("give one trace", "replay", "onebit replay TRACE.h5 [options]");
  if (line.out.empty() && line.reference.empty()) {
    throw ConfigError("nothing to do", "replay",
                      "give -o FILE.h5 for the parameters, --reference CASE to compare, or both");
  }
  if (line.reference == kAllCases) {
    replay_all(line, sim::GradientTrace(line.arguments.front()).cases());
    return kExitDone;
  }
  const sim::GradientTrace trace(line.arguments.front(), line.reference);
  check_options(line.run, trace);
  const ReplayPlan plan = plan_replay(trace, line.reference, line.run, line.penalty);
  warn_of_idle_options(line, {{plan.config}});
  print(line, trace, replay_case(trace, plan, line.reference, line.out, line.overwrite));
  return kExitDone;
}

}  // namespace onebit::experiments
