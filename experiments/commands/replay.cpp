#include <algorithm>
#include <cmath>
#include <iostream>

#include "device/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output.hpp"
#include "experiments/reference_case.hpp"
#include "experiments/session.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kAllCases = "all";

/// Options of the model, the data and the log mean nothing here; workers and steps are the trace's.
void check_options(const Settings& settings, const sim::GradientTrace& trace) {
  const auto begins = [](const std::string& name) {
    return [&name](const char* word) { return name == word || name.starts_with(std::string(word) + "."); };
  };
  constexpr const char* used[] = {"optimizer", "codec",    "channel", "feedback",
                                  "freeze",    "schedule", "devices", "threads"};
  for (const auto& [name, value] : settings) {
    if (std::any_of(std::begin(used), std::end(used), begins(name))) continue;
    if (name == "workers" && value == std::to_string(trace.workers())) continue;
    if (name == "steps" && value == std::to_string(trace.steps())) continue;
    throw ConfigError("option has no meaning in a replay", name + " " + value,
                      "the trace has " + std::to_string(trace.workers()) + " workers and " +
                          std::to_string(trace.steps()) + " steps");
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

/// Every case of the trace, one after the other: a table.
void replay_all(const CommandLine& line, const sim::GradientTrace& trace) {
  if (!line.out.empty()) throw ConfigError("one file cannot hold all cases", "out " + line.out, "name one case");
  if (trace.cases().empty()) throw ConfigError("the trace has no cases", line.arguments.front());
  Table table({"case", "optimizer", "worst difference", "at step", "all workers", "at step"}, 2);
  std::vector<Json> items;
  for (const std::string& name : trace.cases()) {
    const sim::RunConfig config = case_config(trace, name, line.run);
    const CaseDeviation deviation = replay_case(trace, config, name);
    Members members = {{"reference", name}, {"optimizer", config.optimizer.name}};
    add(deviation, members);
    items.push_back(Json::object(members));
    std::vector<std::string> row = {name, config.optimizer.name, difference_text(deviation.first),
                                    std::to_string(deviation.first.step)};
    row.push_back(deviation.has_all ? difference_text(deviation.all) : "-");
    row.push_back(deviation.has_all ? std::to_string(deviation.all.step) : "-");
    table.add(row);
  }
  if (line.json) {
    std::cout << Json::object({{"cases", Json::array(items)}}).text() << "\n";
  } else {
    std::cout << "worst relative difference of the displacement\n";
    table.print(std::cout);
  }
}

}  // namespace

int replay_command(const CommandLine& line) {
  if (line.arguments.size() != 1) throw ConfigError("give one trace", "replay", "onebit replay TRACE.h5 [options]");
  if (line.out.empty() && line.reference.empty()) {
    throw ConfigError("nothing to do", "replay",
                      "give -o FILE.h5 for the parameters, --reference CASE to compare, or both");
  }
  const sim::GradientTrace trace(line.arguments.front());
  check_options(line.run, trace);
  if (line.reference == kAllCases) {
    replay_all(line, trace);
  } else {
    const sim::RunConfig config = case_config(trace, line.reference, line.run);
    print(line, trace, replay_case(trace, config, line.reference, line.out, line.overwrite));
  }
  return kExitDone;
}

}  // namespace onebit::experiments
