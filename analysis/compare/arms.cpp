#include "analysis/compare/arms.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "analysis/compare/arm_names.hpp"
#include "analysis/log/log_options.hpp"
#include "device/base/error.hpp"
#include "sim/log/read_check.hpp"
#include "sim/run/deciding_options.hpp"

namespace onebit::analysis {
namespace {

namespace fs = std::filesystem;

// Options that do not define an arm: the seed, those that decide only which rows a log has, and the location of the
// data.
constexpr std::string_view kOfTheLog[] = {"seed",        "log.every",       "log.workers-every", "log.tensors-every",
                                          "probe.every", "probe.curvature", "probe.moved",       "eval.every",
                                          "data.path",   "data.test"};

/// Returns the *.h5 files directly in a folder whose format satisfies `is_wanted`, sorted by name. An unknown format is
/// passed as an empty text.
template <class IsWanted>
std::vector<std::string> files_in(const std::string& folder, const IsWanted& is_wanted) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path.ends_with(".h5")) files.push_back(path);
  }
  if (error) throw ConfigError("cannot read folder: " + error.message(), folder, "check its name and permissions");
  sim::check_ahead(files);
  std::erase_if(files, [&](const std::string& path) { return !is_wanted(sim::format_of(path)); });
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> possible_logs_in(const std::string& folder) {
  return files_in(folder, [](const std::string& format) { return format.empty() || format == sim::log_format; });
}

/// Returns an error's message with the file's path, which errors from lower layers may lack.
std::string line_of(const Error& error, const std::string& path) {
  const std::string text = error.what();
  return text.find(path) == std::string::npos ? text + " (" + path + ")" : text;
}

std::string twin_line(const std::string& path, const std::string& kept) {
  return Error("another run has the same configuration and seed", path, kept + " is used instead").what();
}

/// Adds a run. Of two runs of one arm and seed, the first is kept, unless only the second finished.
void take(Run run, std::map<std::pair<OptionValues, std::uint32_t>, std::size_t>& places, LogSet& set) {
  const auto [place, is_new] = places.emplace(std::pair(arm_options(run), run.summary.seed), set.runs.size());
  if (is_new) {
    set.runs.push_back(std::move(run));
    return;
  }
  Run& there = set.runs[place->second];
  if (outcome_of(there) != Outcome::finished && outcome_of(run) == Outcome::finished) std::swap(there, run);
  set.left_out.push_back(twin_line(run.summary.path, there.summary.path));
}

/// Returns the name that `compare` gave the arm: the file's stem without the seed. None if the file is named
/// differently.
std::optional<std::string> name_in_path(const Run& run) {
  const std::string stem = fs::path(run.summary.path).stem().string();
  const std::string seed = std::to_string(run.summary.seed);
  const std::size_t dash = stem.rfind('-');
  if (dash == std::string::npos || dash == 0 || stem.substr(dash + 1) != seed) return std::nullopt;
  return stem.substr(0, dash);
}

/// Returns the names of all arms, taken from their files; empty if an arm has no name, or two arms have the same.
std::vector<std::string> names_in_paths(const std::vector<Arm>& arms) {
  std::vector<std::string> names;
  for (const Arm& arm : arms) {
    const std::optional<std::string> name = name_in_path(arm.runs.front());
    const bool agreed = std::ranges::all_of(arm.runs, [&](const Run& run) { return name_in_path(run) == name; });
    if (!name || !agreed || std::ranges::find(names, *name) != names.end()) return {};
    names.push_back(*name);
  }
  return names;
}

void sort_by_seed(Arm& arm) {
  std::ranges::stable_sort(arm.runs, {}, [](const Run& run) { return run.summary.seed; });
  const auto twin = std::ranges::adjacent_find(arm.runs, {}, [](const Run& run) { return run.summary.seed; });
  if (twin == arm.runs.end()) return;
  throw ConfigError("two runs have the same options and seed", twin->summary.path + ", " + (twin + 1)->summary.path,
                    "name only one of them, or a folder that holds only one of them");
}

/// Returns the label that all runs of an arm have; empty if they have different ones or none.
std::string label_of(const Arm& arm) {
  const auto label = [](const Run& run) { return option_of(run.header, kLabel).value_or(""); };
  const std::string first = label(arm.runs.front());
  return std::ranges::all_of(arm.runs, [&](const Run& run) { return label(run) == first; }) ? first : "";
}

/// Adds the labels to the options of the arms.
void add_labels(std::vector<Arm>& arms) {
  for (Arm& arm : arms) arm.options.emplace(kLabel, label_of(arm));
}

void name_by_options(std::vector<Arm>& arms) {
  std::vector<OptionValues> options;
  for (const Arm& arm : arms) options.push_back(arm.options);
  const std::vector<std::string> names = arm_names(options);
  for (std::size_t i = 0; i < arms.size(); ++i) arms[i].name = names[i];
  std::ranges::stable_sort(arms, options_before, &Arm::options);
}

}  // namespace

std::vector<std::string> logs_in(const std::string& folder) {
  return files_in(folder, [](const std::string& format) { return format == sim::log_format; });
}

std::vector<std::string> log_paths(std::span<const std::string> paths) {
  std::vector<std::string> files;
  std::set<fs::path> seen;
  for (const std::string& path : paths) {
    std::error_code error;
    const bool folder = fs::is_directory(path, error);
    const std::vector<std::string> found = folder ? possible_logs_in(path) : std::vector{path};
    if (found.empty())
      throw ConfigError("no run logs in this folder", path, "logs are the .h5 files that 'onebit run' writes");
    for (const std::string& file : found) {
      const fs::path place = fs::weakly_canonical(file, error);
      if (seen.insert(error ? fs::path(file) : place).second) files.push_back(file);
    }
  }
  return files;
}

Outcome outcome_of(const Run& run) {
  if (run.summary.status == sim::RunStatus::diverged) return Outcome::diverged;
  if (run.summary.status == sim::RunStatus::failed) return Outcome::failed;
  if (run.summary.status != sim::RunStatus::finished) return Outcome::unfinished;
  if (is_replay(run.header)) return Outcome::finished;
  return std::isfinite(run.summary.final_loss) ? Outcome::finished : Outcome::diverged;
}

std::string reason_of(const Run& run) {
  if (outcome_of(run) == Outcome::finished) return "";
  if (run.summary.status == sim::RunStatus::finished) return "diverged: the loss of its last evaluation is not finite";
  if (run.summary.status == sim::RunStatus::running) return "not finished: still running, or killed";
  const std::string status = sim::name_of(run.summary.status);
  return run.summary.reason.empty() ? status : status + ": " + run.summary.reason;
}

Run load_run(const sim::LogReader& log) {
  Run run;
  run.exchanges = exchanges_of(log);
  run.summary = summarize(log, run.exchanges, {});
  run.header = log.header();
  run.evaluations = log.evaluations();
  run.rows = log.committed_rows();
  return run;
}

void require_enough(const Run& run) {
  const std::string& path = run.summary.path;
  if (run.summary.status == sim::RunStatus::diverged || run.summary.status == sim::RunStatus::failed) return;
  if (run.rows == 0) throw ConfigError("the log has no rows yet", path, "its run was killed early, or has just begun");
  if (run.rows == 1)
    throw ConfigError("the log has only one step, too few to compare", path, "more --steps are needed");
  if (is_replay(run.header)) return;
  const bool any = std::ranges::any_of(run.evaluations, [](const auto& row) { return std::isfinite(row.loss); });
  if (!any)
    throw ConfigError("the log has no evaluation with a finite loss", path, "its run needs another --eval.every");
}

Run read_run(const std::string& path) {
  Run run = load_run(sim::LogReader(path));
  require_enough(run);
  return run;
}

LogSet read_logs(std::span<const std::string> paths, const std::function<Run(const std::string&)>& read) {
  if (paths.empty()) throw ConfigError("no logs to read", "", "name log files, or folders that contain log files");
  LogSet set;
  std::map<std::pair<OptionValues, std::uint32_t>, std::size_t> places;
  const std::vector<std::string> logs = log_paths(paths);
  sim::check_ahead(logs);
  for (const std::string& path : logs) {
    try {
      take(read(path), places, set);
    } catch (const Error& error) {
      set.left_out.push_back(line_of(error, path));
    }
  }
  if (!set.runs.empty()) return set;
  throw ConfigError("none of " + std::to_string(set.left_out.size()) + " logs can be used", "", set.left_out.front());
}

OptionValues arm_options(const Run& run) {
  OptionValues options;
  for (const auto& [option, value] : run.header.config) {
    if (option == "devices") {
      const std::string backend = sim::backend_of(value);
      options.emplace(option, backend.empty() ? "cpu" : backend);
    } else if (sim::decides_results(option) && std::ranges::find(kOfTheLog, option) == std::end(kOfTheLog)) {
      options.emplace(option, value);
    }
  }
  return options;
}

StartAndEnd losses_of(const Run& run) {
  const double start = run.evaluations.front().loss, end = run.summary.final_loss;
  return {start, end, 1, end > start ? 1 : 0};
}

bool ended_above_start(const Run& run) {
  return outcome_of(run) == Outcome::finished && !run.evaluations.empty() && losses_of(run).rose();
}

StartAndEnd start_and_end(const Arm& arm) {
  StartAndEnd losses{0, 0, 0, 0};
  for (const Run& run : arm.runs) {
    if (outcome_of(run) != Outcome::finished || run.evaluations.empty()) continue;
    const StartAndEnd own = losses_of(run);
    losses.start += own.start;
    losses.end += own.end;
    losses.above += own.above;
    losses.runs += own.runs;
  }
  losses.start /= static_cast<double>(losses.runs);
  losses.end /= static_cast<double>(losses.runs);
  return losses;
}

std::vector<Arm> arms_of(std::vector<Run> runs) {
  std::vector<Arm> arms;
  for (Run& run : runs) {
    OptionValues options = arm_options(run);
    auto arm = std::ranges::find(arms, options, &Arm::options);
    if (arm == arms.end()) arm = arms.insert(arms.end(), {"", std::move(options), {}});
    arm->runs.push_back(std::move(run));
  }
  for (Arm& arm : arms) sort_by_seed(arm);
  if (std::ranges::count(arms, "", label_of) == 0) {
    add_labels(arms);
  } else if (const std::vector<std::string> names = names_in_paths(arms); !names.empty()) {
    for (std::size_t i = 0; i < names.size(); ++i) arms[i].name = names[i];
    return arms;
  }
  name_by_options(arms);
  return arms;
}

}  // namespace onebit::analysis
