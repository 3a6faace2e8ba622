#pragma once
// How to continue a run that did not finish.

#include <optional>
#include <string>

#include "sim/log/reader.hpp"

namespace onebit::experiments {

/// Returns the command "onebit run ..." that repeats the run of a log, quoted for a shell. The command names no output.
/// It gives the seed and, of the other options that decide this run's results, as few as possible. Empty if this
/// version of the program cannot express the log's options.
std::string command_to_repeat(const sim::LogHeader& header);

/// Returns the command that continues the run of a log, quoted for a shell. It gives every option whose value would
/// otherwise differ from that in the log. Empty if this version of the program cannot express the log's options.
std::string command_to_resume(const sim::LogReader& log);

/// A run whose log has the status running.
struct Unfinished {
  enum class State { running, interrupted, unknown } state = State::unknown;
  Index step = 0;                        ///< last step in the log
  std::optional<Index> checkpoint = {};  ///< step of the newest checkpoint
  std::string host;                      ///< host on which the run began
  std::string command;                   ///< command_to_resume()
  bool is_replay = false;                ///< whether it is a replay, which cannot be continued

  /// Returns "running", "interrupted" or "running or interrupted".
  std::string state_text() const;
  /// Describes the run for a reader.
  std::string text() const;
};

/// Returns the unfinished run of a log, or nothing if the log says how the run ended. A lock held by a writer shows
/// that the run is still going; if the run began on another machine, a missing lock proves nothing. Throws what
/// LogReader throws.
std::optional<Unfinished> unfinished_run(const std::string& path);

}  // namespace onebit::experiments
