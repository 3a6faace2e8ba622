#pragma once
// How to continue a run that did not finish.

#include <optional>
#include <string>

#include "sim/log/reader.hpp"

namespace onebit::experiments {

/// Returns the command that continues the run of a log, ready for a shell, with every option whose value in the log
/// differs from what it would be without it. Empty where this version of the program cannot express the log's options.
std::string command_to_resume(const sim::LogReader& log);

/// A run whose log has the status running.
struct Unfinished {
  enum class State { running, interrupted, unknown } state = State::unknown;
  Index step = 0;                        ///< last step in the log
  std::optional<Index> checkpoint = {};  ///< step of the newest checkpoint
  std::string host;                      ///< host on which the run began
  std::string command;                   ///< command_to_resume()

  /// Returns "running", "interrupted" or "running or interrupted".
  std::string state_text() const;
  /// Describes the run for a reader.
  std::string text() const;
};

/// Returns the unfinished run of a log; none where the log says how it ended. The lock that a writer holds tells
/// whether it still runs; on another machine than the run's, a missing lock proves nothing. Throws what LogReader
/// throws.
std::optional<Unfinished> unfinished_run(const std::string& path);

}  // namespace onebit::experiments
