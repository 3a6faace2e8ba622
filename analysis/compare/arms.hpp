#pragma once
// Many logs: read once, with those that cannot be used named, and grouped into arms over seeds.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/log/summary.hpp"

namespace onebit::analysis {

/// A run as the comparison sees it; its file is not opened again.
struct Run {
  Summary summary;  ///< without prices
  sim::LogHeader header;
  std::vector<sim::EvaluationRow> evaluations;
  std::vector<StepRange> exchanges;
};

/// How a run counts. finished: to its end, with a finite loss in its last evaluation. diverged: by its status, or
/// because that loss is not finite. failed: by its status. unfinished: stopped, killed or still at work.
enum class Outcome { finished, diverged, failed, unfinished };
Outcome outcome_of(const Run& run);

/// Why a run did not finish, for people: "diverged: the loss is not finite". Empty for one that did.
std::string reason_of(const Run& run);

struct LogSet {
  std::vector<Run> runs;              ///< in the order of the paths, folders by file name
  std::vector<std::string> left_out;  ///< a line each, with the file: damaged, empty, too short, or there twice
};

/// Every file once, a folder being every *.h5 directly in it but the tables of this program (a sweep's index), by name.
/// Throws ConfigError for a folder without a log.
std::vector<std::string> log_paths(std::span<const std::string> paths);

/// Reads a log whole, however little there is in it. Throws what the reader and exchanges_of throw.
Run load_run(const sim::LogReader& log);

/// The same for one that is compared: ConfigError where there is too little, fewer than two rows of steps, or no
/// evaluation with a finite loss. A run that diverged or failed needs neither: that it did is what it says.
Run read_run(const std::string& path);

/// The logs of log_paths. A log
/// that cannot be read becomes a line of left_out; so does the second of two runs of one configuration and seed, the
/// unfinished one where one has finished. A file that is named twice is read once. Throws ConfigError where no path is
/// given, a folder has no such file, or no log is left.
LogSet read_logs(std::span<const std::string> paths);

using OptionValues = std::map<std::string, std::string>;  ///< by option

/// The options that make a run's arm: those that decide results, without the seed, how often rows are logged, and where
/// data lie, which their hash stands for. Of devices only the backend counts.
OptionValues arm_options(const Run& run);

/// Runs that differ in their seed alone.
struct Arm {
  std::string name;
  OptionValues options;   ///< arm_options of its runs
  std::vector<Run> runs;  ///< in the order of their seeds; at least one
};

/// Called as their files are, <arm>-<seed>.h5, where that gives every arm a name of its own; else by the options in
/// which they differ (arm_names), and then sorted by these. Otherwise in order of appearance. An option that one log
/// has and another lacks, being of an older program, tells arms apart. Throws ConfigError for two runs of one arm and
/// seed.
std::vector<Arm> arms_of(std::vector<Run> runs);

}  // namespace onebit::analysis
