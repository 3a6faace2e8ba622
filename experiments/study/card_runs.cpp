#include "experiments/study/card_runs.hpp"

#include <filesystem>
#include <set>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "experiments/study/log_settings.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

/// Returns whether an option says where something is. The hash of the data shows whether the data are the same.
bool is_place(const std::string& option) {
  static const std::set<std::string> places = {"data.path", "data.test", "data.vocabulary", "model.command",
                                               "model.init"};
  return places.contains(option);
}

/// Returns whether somebody who repeats a run may set another value for an option.
bool may_change(const std::string& option) {
  return is_place(option) || !sim::decides_results(option);
}

void check_changes(const Settings& changes) {
  for (const auto& [option, value] : changes) {
    if (may_change(option)) continue;
    throw ConfigError("the card determines this option", option + " " + value,
                      "only options for devices, threads, memory and file locations, such as data.path, can be given");
  }
}

/// Returns the configuration of a run.
sim::RunConfig config_of(const CardRun& run, const Settings& changes) {
  std::optional<Settings> settings = settings_of(run.header);
  if (!settings) {
    throw ConfigError("this version of the program lacks an option of the run, or gives it another meaning", run.log,
                      "the card was written by version " + run.header.program_version + " of the program");
  }
  for (const auto& change : changes) {
    if (!is_place(change.first) || has_option(*settings, change.first)) settings->push_back(change);
  }
  sim::RunConfig config = make_config(*settings);
  config.seed = run.header.seed;
  if (!config.model.command.empty() && !has_option(changes, "model.command")) {
    throw ConfigError("the run starts a program", run.log + ": " + config.model.command,
                      "check this command, and allow it with --model.command '...'");
  }
  return config;
}

void check_data(const CardRun& run, const sim::PreparedRun& prepared) {
  const std::string& now = prepared.resources.data->hash();
  if (now == run.header.data_hash) return;
  throw ConfigError(
      "the data differ from the card's: their hash is " + run.header.data_hash + " there, " + now + " here", run.log,
      "name the card's data with --data.path");
}

/// Gives each run a separate log in a folder, with the name that it has in the card. A card may be somebody else's, so
/// only the last part of a name is used, which cannot point outside the folder.
class LogNames {
 public:
  explicit LogNames(std::string folder) : folder_(std::move(folder)) {}

  std::string next(const CardRun& run) {
    std::string name = fs::path(run.log).filename().string();
    if (name.empty() || name.starts_with(".")) name = "run.h5";
    while (!used_.insert(name).second) name.insert(0, "again-");
    return folder_ + "/" + name;
  }

 private:
  std::string folder_;
  std::set<std::string> used_;
};

/// A run to train.
struct Task {
  std::string arm, path;
  sim::RunConfig config;
};

std::vector<Task> tasks_of(const Card& card, const Settings& changes, const std::string& folder, sim::DataCache& data) {
  LogNames names(folder);
  std::vector<Task> tasks;
  for (const CardRun& run : card.runs) {
    if (!run.not_repeated.empty()) continue;
    tasks.push_back({run.result.arm, names.next(run), config_of(run, changes)});
    check_data(run, sim::prepare(tasks.back().config, data));
  }
  return tasks;
}

void add(analysis::Run run, const std::string& name, std::vector<analysis::Arm>& arms) {
  if (arms.empty() || arms.back().name != name) arms.push_back({name, analysis::arm_options(run), {}});
  arms.back().runs.push_back(std::move(run));
}

}  // namespace

ArmResults repeat(const Card& card, const Settings& changes, const std::string& folder, const Training& training) {
  check_changes(changes);
  sim::DataCache data;
  const std::vector<Task> tasks = tasks_of(card, changes, folder, data);
  if (tasks.empty())
    throw ConfigError("no run can be repeated", card.runs.front().log + ": " + card.runs.front().not_repeated);
  for (const Task& task : tasks) files::check_output(task.path, training.output.overwrite);
  make_folder(folder);
  training.watcher.on_start();
  const auto existing = training.output.overwrite ? sim::Existing::replace : sim::Existing::refuse;
  ArmResults results;
  for (const Task& task : tasks) {
    const std::string name = watched_name(task.arm, task.config.seed, &task - tasks.data(), std::ssize(tasks));
    const TrainedRun run = run_and_log(sim::prepare(task.config, data), task.path, existing, training, name);
    results.complete = run.result.status != sim::RunStatus::stopped;
    if (!results.complete) break;
    add(analysis::load_run(sim::LogReader(task.path)), task.arm, results.arms);
  }
  return results;
}

}  // namespace onebit::experiments
