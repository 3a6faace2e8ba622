#pragma once
// The phase of every step of a log, also of steps between its rows.

#include <deque>
#include <vector>

#include "netmodel/wire/traffic.hpp"
#include "optim/optimizer.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// More than any run has: a number beyond is damage.
inline constexpr Index kMostSteps = Index{1} << 53;

/// See exchanges_of for the rule. Steps are asked for in rising order.
class RecordedPhases {
 public:
  /// Throws what the reader throws; IoError for a number that is no phase, and rows that do not ascend.
  explicit RecordedPhases(const sim::LogReader& log);

  /// The last step with a row; 0: there is none.
  Index last() const { return rows_.empty() ? 0 : rows_.back().step; }
  /// Takes note of what the steps first to last, those that have rows, exchanged.
  void learn(Index first, Index last, const netmodel::TrafficList& each);
  optim::Phase at(Index step, const netmodel::TrafficList& exchanges) const;
  /// The first step after `step` that may be of another phase than it, among steps that exchange the same.
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
  std::deque<Kind> kinds_;  ///< the last few
};

}  // namespace onebit::analysis
