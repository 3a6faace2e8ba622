#pragma once
// A line on stderr about a sweep that overwrites itself.

#include <chrono>
#include <string>

#include "device/base/types.hpp"

namespace onebit::experiments {

/// Where a sweep stands.
struct Standing {
  Index points = 0, ended = 0, failed = 0, running = 0;
  double best = 0;         ///< smallest loss of a done point
  std::string best_label;  ///< of its point; empty: none is done
};

class Board {
 public:
  explicit Board(bool shown) : shown_(shown) {}
  ~Board() { clear(); }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// At most ten times a second.
  void show(const Standing& standing);
  /// A line above it that stays, also where no board is shown.
  void tell(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  void clear() const;

  bool shown_;
  Index before_ = -1;  ///< points that had ended when it began
  Clock::time_point start_ = Clock::now(), last_ = {};
};

}  // namespace onebit::experiments
