#pragma once
// Reads many logs: each is read once, unusable ones are listed, and the rest are grouped into arms. The runs of an arm
// have different seeds but agree in all options of arm_options.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/log/summary.hpp"

namespace onebit::analysis {

/// A run with everything that a comparison reads from its log; the file is not opened again.
struct Run {
  Summary summary;  ///< summary without communication times
  sim::LogHeader header;
  std::vector<sim::EvaluationRow> evaluations;
  std::vector<StepRange> exchanges;
  Index rows = 0;  ///< number of rows of /steps
};

/// Outcome of a run for comparisons. finished: the run reached its end, with a finite loss in its last evaluation (a
/// replay has no evaluations). diverged: its status is "diverged", or the loss of its last evaluation is not finite.
/// failed: its status is "failed". unfinished: it was stopped or killed, or is still running.
enum class Outcome { finished, diverged, failed, unfinished };
Outcome outcome_of(const Run& run);

/// Returns a description of why a run did not finish, such as "diverged: the loss is not finite"; empty for a run that
/// finished.
std::string reason_of(const Run& run);

struct LogSet {
  std::vector<Run> runs;              ///< usable runs in the order of the paths; within a folder, by file name
  std::vector<std::string> left_out;  ///< one line per file: damaged, empty, too short, or a duplicate
};

/// Returns the paths of the logs directly in a folder, sorted by name. Throws ConfigError if the folder cannot be read.
std::vector<std::string> logs_in(const std::string& folder);

/// Returns the log files that the paths stand for, in the order of the paths, each file once. A folder stands for the
/// *.h5 files directly in it, sorted by name, except tables that this program wrote (the index of a sweep). Throws
/// ConfigError for a folder without a log.
std::vector<std::string> log_paths(std::span<const std::string> paths);

/// Reads a whole log, however short. Throws what the reader and exchanges_of throw.
Run load_run(const sim::LogReader& log);

/// Throws ConfigError if a log holds too little for a comparison: fewer than two rows of steps, or no evaluation with a
/// finite loss. A run that diverged or failed may lack both, because its divergence or failure is its result. A replay
/// needs no evaluation, because replays are never evaluated.
void require_enough(const Run& run);

/// Reads a log for a comparison. Throws what load_run and require_enough throw.
Run read_run(const std::string& path);

/// Reads the logs of log_paths with `read`, which throws what read_run throws. A log that cannot be read gets a line in
/// left_out. Of two runs with the same configuration and seed, one gets such a line as well: the unfinished run if the
/// other has finished, and otherwise the second. A file that is named twice is read once. Throws ConfigError if no path
/// is given, a folder has no log, or no log is left.
LogSet read_logs(std::span<const std::string> paths, const std::function<Run(const std::string&)>& read = read_run);

using OptionValues = std::map<std::string, std::string>;  ///< values by option

/// Returns the options that define a run's arm: those that decide results, except the seed, how often rows are logged
/// or the model is evaluated, what is probed (probe.curvature, probe.moved), and the location of the data, whose hash
/// identifies them. Of the devices, only the backend is included.
OptionValues arm_options(const Run& run);

/// Runs that differ only in their seed.
struct Arm {
  std::string name;
  OptionValues options;   ///< arm_options of its runs
  std::vector<Run> runs;  ///< runs in the order of their seeds; at least one
};

/// Losses of the first and the last evaluation, as means over the finished runs of an arm; NaN if there are no
/// evaluations.
struct StartAndEnd {
  double start, end;
  Index runs;
  Index above;  ///< runs that ended above their own start
  /// Whether the end is above the start by more than 1%.
  bool rose() const { return end > start + 0.01 * (start < 0 ? -start : start); }
};
StartAndEnd start_and_end(const Arm& arm);

/// Returns the losses of one finished run, which must have evaluations.
StartAndEnd losses_of(const Run& run);

/// Whether a run finished and ended above its starting loss; false for a run without evaluations.
bool ended_above_start(const Run& run);

/// Groups runs into arms. If every arm has a label, arms are named by their labels and the options in which they differ
/// (arm_names), and are sorted by both. Otherwise they are named after their files, <arm>-<seed>.h5, if that gives
/// distinct names, and then stay in order of appearance; failing that, they are named by the options in which they
/// differ. If a log lacks an option that another log has (because an older program wrote the former), the two runs
/// belong to different arms. Throws ConfigError if two runs of an arm have the same seed.
std::vector<Arm> arms_of(std::vector<Run> runs);

}  // namespace onebit::analysis
