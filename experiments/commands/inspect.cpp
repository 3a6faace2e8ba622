#include <iostream>

#include "device/error.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/session.hpp"
#include "experiments/summary_output.hpp"

namespace onebit::experiments {
namespace {

void print_log(const sim::LogReader& log) {
  const sim::LogHeader& header = log.header();
  print_summary(analysis::summarize(log, {}), std::cout);
  Table table({"written by", "onebit " + header.program_version + " (" + header.git_commit + ")"}, 2);
  table.add({"created", header.created_utc + " on " + header.host + " (" + header.devices + ")"});
  table.add({"command", header.command_line});
  table.add({"data hash", header.data_hash});
  table.add({"closed by its writer", log.closed() ? "yes" : "no: still running, or killed"});
  for (const char* group : {"steps", "workers", "tensors", "probes", "evaluations", "events", "traffic"}) {
    table.add({std::string("committed rows of ") + group, std::to_string(log.committed_rows(group))});
  }
  for (const std::string& column : log.unknown_columns()) table.add({"unknown to this version", column});
  for (const sim::Event& event : log.events()) {
    table.add({"event at step " + std::to_string(event.step), event.kind + ": " + event.text});
  }
  table.print(std::cout);
}

Json log_json(const sim::LogReader& log) {
  std::vector<std::pair<std::string, Json>> rows;
  for (const char* group : {"steps", "workers", "tensors", "probes", "evaluations", "events", "traffic"}) {
    rows.emplace_back(group, log.committed_rows(group));
  }
  return Json::object({{"summary", to_json(analysis::summarize(log, {}))},
                       {"closed", Json::boolean(log.closed())},
                       {"committed_rows", Json::object(rows)}});
}

}  // namespace

int inspect_command(const CommandLine& line) {
  if (line.arguments.empty()) throw ConfigError("no log named", "inspect", "onebit inspect FILE.h5");
  std::vector<Json> objects;
  for (const std::string& path : line.arguments) {
    const sim::LogReader log(path);
    if (line.json) {
      objects.push_back(log_json(log));
    } else {
      print_log(log);
    }
  }
  if (line.json) std::cout << (objects.size() == 1 ? objects[0] : Json::array(objects)).text() << "\n";
  return kExitDone;
}

}  // namespace onebit::experiments
