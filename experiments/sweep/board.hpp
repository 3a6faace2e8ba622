#pragma once
// What a sweep prints on stderr while it runs.

#include <string>

#include "device/base/types.hpp"
#include "experiments/cli/progress.hpp"

namespace onebit::experiments {

/// Progress of a sweep.
struct Standing {
  Index points = 0, ended = 0, failed = 0, running = 0;
  double best = 0;         ///< smallest loss of any finished point
  std::string best_label;  ///< label of that point; empty if no point is done
};

class Board {
 public:
  /// requested: whether to show progress even if stderr is not a terminal.
  explicit Board(bool requested) : line_(requested) {}

  /// Shows the progress if an update is due.
  void show(const Standing& standing);
  /// Prints a permanent line above the progress line, even if no progress is shown.
  static void tell(const std::string& line);

 private:
  ProgressLine line_;
};

}  // namespace onebit::experiments
