#pragma once
// Learning-rate grids: arms that differ in optimizer.lr alone. A comparison is as fair as the search behind it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"

namespace onebit::analysis {

struct RateGrid {
  std::string name;                 ///< of its arm, where it has one only; else as arm_names calls the rest of it
  std::vector<std::size_t> arms;    ///< places in the list of arms, by rising rate
  std::vector<double> rates;        ///< theirs; NaN: the log does not say
  std::optional<std::size_t> best;  ///< place in the two lists above: the lowest mean final loss among the rates with
                                    ///< no run that diverged and one that finished; none: there is no such rate

  /// The best rate is the least or the largest of several: a better one may lie beyond.
  bool best_at_edge() const;
};

/// Every arm is in one of them. In the order of their first arms.
std::vector<RateGrid> rate_grids(std::span<const Arm> arms);

/// What to know before two grids are compared by their best rates: one has more rates than the other, a best rate is at
/// the edge. Both favour whoever was searched better.
std::vector<std::string> warnings_of(const RateGrid& baseline, const RateGrid& other);

}  // namespace onebit::analysis
