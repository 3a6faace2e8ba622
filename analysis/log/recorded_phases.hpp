#pragma once
// The phase of every step of a log, including the steps between its rows.

#include <deque>
#include <vector>

#include "netmodel/wire/traffic.hpp"
#include "optim/optimizer.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// An upper bound on step numbers; a larger number means that the log is damaged.
inline constexpr Index kMostSteps = Index{1} << 53;

/// Determines the phase of each step by the rule of exchanges_of. Query steps in ascending order.
class RecordedPhases {
 public:
  /// Throws what the reader throws, and IoError for an unknown phase number or rows that do not ascend.
  explicit RecordedPhases(const sim::LogReader& log);

  /// Returns the last step that has a row; 0 if there is none.
  Index last() const { return rows_.empty() ? 0 : rows_.back().step; }
  /// Records the exchanges and phases of those steps from first to last that have rows.
  void learn(Index first, Index last, const netmodel::TrafficList& each);
  optim::Phase at(Index step, const netmodel::TrafficList& exchanges) const;
  /// Returns the first step after `step` that may be in another phase, provided that the exchanges stay the same.
  Index next_change(Index step) const;

 private:
  struct Row {
    Index step;
    optim::Phase phase;
  };
  struct Kind {
    netmodel::TrafficList exchanges;
    std::vector<optim::Phase> phases;
  };

  std::vector<Row>::const_iterator row_from(Index step) const;
  optim::Phase between(const Row& before, const Row& after, Index step) const;

  std::vector<Row> rows_;
  Index freeze_ = 0;
  std::deque<Kind> kinds_;  ///< most recent kinds of exchanges
};

}  // namespace onebit::analysis
