#include <iostream>

#include "device/base/error.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/output/summary_output.hpp"
#include "experiments/study/unfinished.hpp"

namespace onebit::experiments {
namespace {

struct Options : CommandInput {
  bool json = false;
};

std::string why_open(const std::optional<Unfinished>& unfinished) {
  using State = Unfinished::State;
  const State state = unfinished ? unfinished->state : State::unknown;
  if (state == State::running) return "still running";
  return state == State::interrupted ? "killed, or writing the log failed" : "still running, or killed";
}

void print_log(const sim::LogReader& log, const std::optional<Unfinished>& unfinished) {
  const sim::LogHeader& header = log.header();
  print_summary(analysis::summarize(log, {}), std::cout, unfinished ? unfinished->text() : "");
  Table table({"written by", "onebit " + header.program_version + " (" + header.git_commit + ")"}, 2);
  table.add({"created", header.created_utc + " on " + header.host + " (" + header.devices + ")"});
  table.add({"command", header.command_line});
  table.add({"data hash", header.data_hash});
  table.add({"closed by its writer", log.closed() ? "yes" : "no: " + why_open(unfinished)});
  for (const char* group : {"steps", "workers", "tensors", "probes", "evaluations", "events", "traffic"}) {
    table.add({std::string("committed rows of ") + group, std::to_string(log.committed_rows(group))});
  }
  for (const std::string& column : log.unknown_columns()) table.add({"unknown to this version", column});
  for (const sim::UnreadableColumn& column : log.unreadable_columns()) table.add({"damaged", column.reason});
  for (const sim::Event& event : log.events()) {
    table.add({"event at step " + std::to_string(event.step), event.kind + ": " + event.text});
  }
  table.print(std::cout);
}

Json unfinished_json(const Unfinished& run) {
  return Json::object({{"state", run.state_text()},
                       {"step", run.step},
                       {"checkpoint", run.checkpoint ? Json(*run.checkpoint) : Json(sim::not_applicable)},
                       {"host", run.host},
                       {"resume", run.command}});
}

Json log_json(const sim::LogReader& log, const std::optional<Unfinished>& unfinished) {
  std::vector<std::pair<std::string, Json>> rows;
  for (const char* group : {"steps", "workers", "tensors", "probes", "evaluations", "events", "traffic"}) {
    rows.emplace_back(group, log.committed_rows(group));
  }
  const std::string status = unfinished ? unfinished->state_text() : "";
  std::vector<Json> damaged;
  for (const sim::UnreadableColumn& column : log.unreadable_columns()) damaged.emplace_back(column.name);
  const Json json = Json::object({{"summary", to_json(analysis::summarize(log, {}), status)},
                                  {"closed", Json::boolean(log.closed())},
                                  {"committed_rows", Json::object(rows)},
                                  {"damaged", Json::array(damaged)}});
  return unfinished ? json.with("unfinished", unfinished_json(*unfinished)) : json;
}

int inspect(const Options& options) {
  if (options.arguments.empty()) throw ConfigError("no log named", "inspect", "onebit inspect FILE.h5");
  std::vector<Json> objects;
  for (const std::string& path : options.arguments) {
    const std::optional<Unfinished> unfinished = unfinished_run(path);
    const sim::LogReader log(path, sim::Damage::tolerated);
    log.read_all();  // so that it notes all damage
    if (options.json) {
      objects.push_back(log_json(log, unfinished));
    } else {
      print_log(log, unfinished);
    }
  }
  if (options.json) std::cout << (objects.size() == 1 ? objects[0] : Json::array(objects)).text() << "\n";
  return kExitDone;
}

}  // namespace

Command inspect_command() {
  return make_command(
      {.name = "inspect",
       .usage = "LOG.h5...",
       .doc = "show the contents of a run log, even while the run is in progress or after it was killed",
       .help = {.common = {"json"}, .examples = {"onebit inspect run.h5", "onebit inspect out/*.h5 --json"}}},
      {json_row<Options>()}, inspect);
}

}  // namespace onebit::experiments
