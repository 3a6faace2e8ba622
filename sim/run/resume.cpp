#include "sim/run/resume.hpp"

#include <algorithm>
#include <iterator>

#include "device/base/error.hpp"
#include "sim/data/hash.hpp"
#include "sim/run/repair.hpp"

namespace onebit::sim {
namespace {

constexpr Index kNone = -1;

LogRows committed_rows(const LogReader& log) {
  return {log.committed_rows("steps"),       log.committed_rows("workers"), log.committed_rows("tensors"),
          log.committed_rows("evaluations"), log.committed_rows("events"),  log.committed_rows("traffic"),
          log.committed_rows("probes")};
}

void require_same_problem(const LogReader& log, const VirtualCluster& cluster) {
  const LogHeader& header = log.header();
  if (header.data_hash != cluster.data().hash()) {
    throw ConfigError("the data differ from the log's", log.path(),
                      "give the data that the run had (their hash is " + header.data_hash + " in the log, " +
                          cluster.data().hash() + " now)");
  }
  if (header.tensors != cluster.model().tensors()) {
    throw ConfigError("the model's tensors differ from the log's", log.path(), "resume with the same model");
  }
  if (header.workers != cluster.replicas().front().shard.workers()) {
    throw ConfigError("the log has a different number of workers", log.path(),
                      "resume with --workers " + std::to_string(header.workers));
  }
}

/// Returns the step of the newest usable checkpoint, or kNone.
Index newest_good(const std::string& path, const LogReader& log, std::vector<std::string>& refused) {
  for (const CheckpointFile& file : checkpoints_of(path)) {
    const std::string defect = defect_of_checkpoint(file.path, log);
    if (defect.empty()) return file.step;
    refused.push_back(defect);
  }
  return kNone;
}

/// Makes a resumption keep the log's rows up to `step`. Events are chosen by their step, because a checkpoint of a run
/// that computed steps again also counts later events.
void keep_up_to(Index step, const LogReader& log, Resumption& resumption) {
  const auto stays = [step](const Event& event) { return event.step <= step; };
  const std::vector<Event> events = log.events();
  const auto first_gone = std::find_if_not(events.begin(), events.end(), stays);
  resumption.keep = resumption.state.rows;
  resumption.keep.events = first_gone - events.begin();
  std::copy_if(first_gone, events.end(), std::back_inserter(resumption.events), stays);
}

/// Restores the state after a step. Throws ConfigError if the checkpoint of that name is of another step.
RunState read_step(Index step, const std::string& log, VirtualCluster& cluster) {
  const std::string path = checkpoint_path(log, step);
  const RunState state = read_checkpoint(path, cluster);
  if (cluster.step() == step) return state;
  throw ConfigError("cannot use checkpoint: it is from step " + std::to_string(cluster.step()), path,
                    "it was renamed or damaged: remove it");
}

}  // namespace

Index identity_of(const LogHeader& header) {
  Fnv1a hash;
  for (const std::string* text : {&header.created_utc, &header.host, &header.command_line, &header.data_hash}) {
    hash.add(text->c_str(), text->size() + 1);
  }
  return static_cast<Index>(hash.value());
}

bool holds(const LogRows& log, const LogRows& rows) {
  return log.steps >= rows.steps && log.workers >= rows.workers && log.tensors >= rows.tensors &&
         log.probes >= rows.probes && log.evaluations >= rows.evaluations && log.traffic >= rows.traffic;
}

std::string defect_of_checkpoint(const std::string& path, const LogReader& log) {
  RunState state;
  try {
    verify_checkpoint(path);
    state = run_state_of(path);
  } catch (const Error& error) {
    return error.what();
  }
  if (state.log != identity_of(log.header())) return "cannot use checkpoint: it belongs to another run (" + path + ")";
  if (!holds(committed_rows(log), state.rows)) {
    return "cannot use checkpoint: it refers to rows that the log no longer has (" + path + ")";
  }
  return "";
}

Resumption prepare_resumption(VirtualCluster& cluster, const std::string& path, bool replace) {
  Resumption resumption;
  std::optional<LogReader> log;
  Index step = kNone;
  std::vector<std::string> refused;  // why newer checkpoints cannot be used, newest first
  cluster.processes().run([&] {
    if (!cluster.is_root()) return;
    if (const std::optional<std::string> repair = repair_log(path)) resumption.warnings.push_back(*repair);
    log.emplace(path);
    require_same_problem(*log, cluster);
    resumption.header = log->header();
    resumption.seen = resumption.keep = committed_rows(*log);
    resumption.state.log = identity_of(log->header());
    step = newest_good(path, *log, refused);
  });
  step = cluster.broadcast(step);
  cluster.processes().run([&] {
    if (!replace || step != kNone || refused.empty()) return;
    throw ConfigError(refused.front(), "",
                      "resuming without it would discard all rows of the log; --overwrite starts the run again");
  });
  resumption.warnings.insert(resumption.warnings.end(), refused.begin(), refused.end());
  cluster.processes().run([&] {
    if (step != kNone) resumption.state = read_step(step, path, cluster);
    if (cluster.step() > cluster.steps()) {
      throw ConfigError("the run would end before the checkpoint that it continues from", checkpoint_path(path, step),
                        "give at least --steps " + std::to_string(step));
    }
    if (!cluster.is_root()) return;
    if (replace) keep_up_to(cluster.step(), *log, resumption);
    if (!replace) resumption.expected = rows_beyond(*log, resumption.state.rows, cluster.step());
  });
  return resumption;
}

}  // namespace onebit::sim
