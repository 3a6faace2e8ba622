#pragma once
// A progress line on stderr.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "device/base/types.hpp"
#include "experiments/cli/pace.hpp"

namespace onebit::experiments {

/// Environment variable that is set if another program passes stderr on to a terminal; see run_ranks().
inline constexpr const char* kPassedOnVariable = "ONEBIT_STDERR_IS_PASSED_ON";

/// A part of a progress line. If the line is too narrow, the parts with the highest numbers are left out first.
struct ProgressPart {
  std::string text;
  int leave_out = 0;
};

/// Returns, in their original order, the parts that fit into a line of `columns` characters, after applying printable()
/// to them. If `columns` is 0, returns all parts.
std::string progress_text(std::vector<ProgressPart> parts, Index columns);

/// Returns the remaining time as "1:05" or "2:10:00".
std::string clock_text(double seconds);

/// The progress of one job. On a terminal it is one line that overwrites itself, at most ten times a second, never
/// wider than the terminal is at that moment. Elsewhere it is shown on request only, as a new line every ten seconds
/// and a final line. There is at most one progress line at a time.
class ProgressLine {
 public:
  /// requested: whether to show progress even if stderr is not a terminal.
  explicit ProgressLine(bool requested);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  using Parts = std::function<std::vector<ProgressPart>(const Pace&)>;
  /// Registers that `done` of `all` units are done, and shows the parts if an update is due.
  void show(Index done, Index all, const Parts& parts);

 private:
  using Clock = std::chrono::steady_clock;
  bool overwrites_, shown_;
  Index last_done_ = -1;
  Clock::time_point start_ = Clock::now(), noted_ = {}, printed_ = {};
  Pace pace_;
};

/// Removes the progress line, if there is one, before other text on stderr. It reappears with the next update.
void clear_progress();

}  // namespace onebit::experiments
