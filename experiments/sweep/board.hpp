#pragma once
// A progress line on stderr about a sweep, which overwrites itself.

#include <chrono>
#include <string>

#include "device/base/types.hpp"

namespace onebit::experiments {

/// Progress of a sweep.
struct Standing {
  Index points = 0, ended = 0, failed = 0, running = 0;
  double best = 0;         ///< smallest loss of a done point
  std::string best_label;  ///< label of that point; empty if no point is done
};

class Board {
 public:
  explicit Board(bool shown) : shown_(shown) {}
  ~Board() { clear(); }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Shows the progress, at most ten times a second.
  void show(const Standing& standing);
  /// Prints a permanent line above the progress line, even if no progress is shown.
  void tell(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  void clear() const;

  bool shown_;
  Index before_ = -1;  ///< points that had ended before the first call of show; -1: not called yet
  Clock::time_point start_ = Clock::now(), last_ = {};
};

}  // namespace onebit::experiments
