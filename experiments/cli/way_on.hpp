#pragma once
// How a run goes on that did not come to its end.

#include <optional>
#include <string>

#include "sim/log/reader.hpp"

namespace onebit::experiments {

/// The command that goes on with the run of a log, ready for a shell: every option whose value in the log is not what
/// it would be by itself. Empty where the log's options cannot be given to this version of the program.
std::string command_to_resume(const sim::LogReader& log);

/// A run whose log says that it runs.
struct Unfinished {
  enum class State { running, interrupted, unknown } state = State::unknown;
  Index step = 0;                        ///< the last one in the log
  std::optional<Index> checkpoint = {};  ///< step of the newest one
  std::string host;                      ///< where the run was begun
  std::string command;                   ///< command_to_resume()

  /// "running", "interrupted" or "running or interrupted".
  std::string state_text() const;
  /// The whole of it, for a reader.
  std::string text() const;
};

/// Nothing where the log says how the run ended. Whether it still runs is known by the lock that a writer keeps; on
/// another machine than the run's, a lock that is not there says nothing. Throws what LogReader throws.
std::optional<Unfinished> unfinished_run(const std::string& path);

}  // namespace onebit::experiments
