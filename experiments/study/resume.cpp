#include "experiments/study/resume.hpp"

#include <algorithm>
#include <filesystem>
#include <map>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/comm/process_group.hpp"
#include "experiments/study/unfinished.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/checkpoint.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::experiments {
namespace {

/// Name for --resume.allow: rows of the log after the checkpoint may come out differently.
constexpr const char* kBits = "bits";

struct Difference {
  std::string option, there, now;
};

/// Throws if the configuration logs rows of a kind that the log was created without.
void require_groups(const sim::LogHeader& header, const sim::RunConfig& config, const std::string& log) {
  const bool workers = config.log.workers_every > 0 && !header.per_worker;
  const bool tensors = config.log.tensors_every > 0 && !header.per_tensor;
  const bool probes = config.probe.every > 0 && !header.probed;
  if (!workers && !tensors && !probes) return;
  const std::string option = workers ? "log.workers-every" : tensors ? "log.tensors-every" : "probe.every";
  const std::string rows = workers ? "/workers" : tensors ? "/tensors" : "/probes";
  throw ConfigError("the log was created with " + option + " 0, so it has no " + rows + " rows to continue", log,
                    "resume with --" + option + " 0");
}

/// Returns the options that differ from the log's. An option that is not in the log had its default value.
std::vector<Difference> differences(const sim::LogHeader& header, const sim::RunConfig& config) {
  const std::map<std::string, std::string> there(header.config.begin(), header.config.end());
  const sim::RunConfig defaults;
  std::vector<Difference> list;
  for (const RunOption& option : run_options()) {
    const auto found = there.find(option.name);
    const std::string before = found == there.end() ? option.get(defaults) : found->second;
    const std::string now = option.get(config);
    if (now == "0" && (option.name == "eval.every" || option.name == "eval.examples"))
      continue;  // continued() takes the log's
    const bool differs = option.name == "devices" ? sim::backend_of(before) != sim::backend_of(now)
                                                  : sim::decides_results(option.name) && before != now;
    if (differs) list.push_back({option.name, before, now});
  }
  return list;
}

void check_allowed(const std::vector<std::string>& allowed) {
  std::vector<std::string_view> names = {kBits};
  for (const RunOption& option : run_options()) names.push_back(option.name);
  for (const std::string& name : allowed) {
    if (std::ranges::find(names, name) == names.end()) {
      throw ConfigError("unknown option", "resume.allow " + name, suggestion(name, names));
    }
  }
}

/// Whether a run can continue with a different value of an option. It cannot if the option defines the problem.
bool can_differ(const std::string& option) {
  const std::string kind = option.substr(0, option.find('.'));
  return kind != "model" && kind != "data" && kind != "workers";
}

/// Says what to do about options that differ. An option that was left out should be given its value in the log; one
/// that was given is meant to differ, if it can. All options of a comparison's arms are treated as given.
std::string hint_for(const std::vector<Difference>& list, const OutputPolicy& policy, const sim::LogReader& log) {
  std::vector<std::string> meant;
  for (const Difference& difference : list) {
    const bool given = !policy.given || has_option(*policy.given, difference.option);
    if (given && can_differ(difference.option)) meant.push_back(difference.option);
  }
  const std::string allow = "--resume.allow " + join(meant, ",");
  if (meant.size() == list.size()) return "resume with the same options, or give " + allow;
  const std::string command = policy.given ? command_to_resume(log) : "";
  const std::string same = command.empty() ? "resume with the same options" : "continue the run with `" + command + "`";
  return meant.empty() ? same : same + "; to change " + join(meant, ", ") + ", give " + allow;
}

void refuse(const std::vector<Difference>& list, const OutputPolicy& policy, const sim::LogReader& log) {
  std::vector<std::string> texts;
  for (const Difference& difference : list) {
    texts.push_back(difference.option + " '" + difference.there + "' in the log, '" + difference.now + "' now");
  }
  throw ConfigError("options differ from those of the log: " + join(texts, "; "), log.path(),
                    hint_for(list, policy, log));
}

/// Whether the run is over. A run that was killed while it closed its log is not over; nor is one whose log is damaged,
/// because a resumption repairs the log.
bool complete(const sim::LogReader& log) {
  const bool over = log.status() == sim::RunStatus::finished || log.status() == sim::RunStatus::diverged;
  if (!log.closed() || !over) return false;
  log.read_all();
  return log.unreadable_columns().empty();
}

}  // namespace

ResumeDecision resume_decision(const OutputPolicy& policy, const sim::RunConfig& config, const std::string& log) {
  using sim::Existing;
  if (!policy.resume) {
    if (!policy.resume_allow.empty())
      throw ConfigError("resume.allow without resume", "command line", "give --resume too");
    return {policy.overwrite ? Existing::replace : Existing::refuse};
  }
  if (policy.overwrite) throw ConfigError("both --resume and --overwrite", "command line", "give one of them");
  check_allowed(policy.resume_allow);
  if (!std::filesystem::exists(log)) return {Existing::resume};
  const sim::LogReader reader(log, sim::Damage::tolerated);  // the run repairs the log
  require_groups(reader.header(), config, log);
  std::vector<Difference> list = differences(reader.header(), config);
  const auto allowed = [&](const std::string& name) {
    return std::ranges::find(policy.resume_allow, name) != policy.resume_allow.end();
  };
  const auto granted = std::erase_if(list, [&](const Difference& each) { return allowed(each.option); });
  if (!list.empty()) refuse(list, policy, reader);
  if (granted > 0 && sim::checkpoints_of(log).empty()) {
    throw ConfigError("a run can continue with changed options only from a checkpoint, and this one has none", log,
                      "give --overwrite to start the run again");
  }
  const bool changed = granted > 0 || allowed(kBits);
  const bool written = policy.weights_out.empty() || std::filesystem::exists(policy.weights_out);
  ResumeDecision decision{changed ? Existing::resume_replacing : Existing::resume,
                          !changed && written && complete(reader)};
  sim::RunConfig there;
  for (const auto& [name, value] : reader.header().config) {
    if (name.starts_with("eval.")) run_option(name).set(there, value);
  }
  const std::vector<sim::EvaluationRow> rows =
      there.eval.every > 0 ? std::vector<sim::EvaluationRow>() : reader.evaluations();
  const auto later = std::ranges::find_if(rows, [](const auto& row) { return row.step > 0; });
  decision.eval_every = later == rows.end() ? there.eval.every : later->step;  // old logs have 0
  decision.eval_examples = there.eval.examples;
  return decision;
}

sim::RunConfig continued(sim::RunConfig config, const ResumeDecision& decision) {
  if (config.eval.every == 0) config.eval.every = decision.eval_every;
  if (config.eval.examples == 0) config.eval.examples = decision.eval_examples;
  return config;
}

ResumeDecision agreed_decision(const OutputPolicy& policy, const sim::RunConfig& config, const std::string& log) {
  using sim::Existing;
  device::ProcessGroup& processes = *device::processes();
  ResumeDecision own;
  processes.run([&] {
    if (processes.rank() == 0) own = resume_decision(policy, config, log);
  });
  ResumeDecision agreed{Existing::refuse, processes.any(own.done)};
  for (const Existing existing : {Existing::replace, Existing::resume, Existing::resume_replacing}) {
    if (processes.any(own.existing == existing)) agreed.existing = existing;
  }
  const double evaluations[] = {static_cast<double>(own.eval_every), static_cast<double>(own.eval_examples)};
  const std::vector<double> all = processes.communicator()->all_gather(evaluations);  // rank 0's come first
  agreed.eval_every = static_cast<Index>(all[0]);
  agreed.eval_examples = static_cast<Index>(all[1]);
  return agreed;
}

}  // namespace onebit::experiments
