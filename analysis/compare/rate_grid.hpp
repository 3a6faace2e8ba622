#pragma once
// Learning-rate grids: arms that differ in optimizer.lr alone. A comparison is fair only if the learning rate of each
// arm was searched equally well.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"

namespace onebit::analysis {

struct RateGrid {
  std::string name;  ///< the arm's name if there is only one; otherwise a name from the other options (arm_names)
  std::vector<std::size_t> arms;    ///< indices in the list of arms, by ascending rate
  std::vector<double> rates;        ///< learning rates of these arms; NaN: not in the log
  std::optional<std::size_t> best;  ///< index in the two lists above of the rate with the lowest mean final
                                    ///< loss, among rates with a finished run and no diverged one; none: there
                                    ///< is no such rate

  /// Whether the best rate is the smallest or the largest of several. A better rate may then lie beyond it.
  bool best_at_edge() const;
  /// Returns the larger of the two factors by which the next lower and the next higher rate differ from the best rate;
  /// 1 if there is neither.
  double gap_at_best() const;
  /// Whether gap_at_best() is above 5. Rates in the gap may then be better.
  bool is_coarse() const;
};

/// Groups arms into grids, in the order of their first arms; every arm is in exactly one grid.
std::vector<RateGrid> rate_grids(std::span<const Arm> arms);

/// Returns the warning about a grid for which best_at_edge() holds.
std::string edge_text(const RateGrid& grid);

/// Returns a factor between two learning rates with at most one decimal place: "3.3", "10".
std::string gap_factor(double gap);

/// Returns the warning about a grid for which is_coarse() holds.
std::string gap_text(const RateGrid& grid);

/// Returns warnings about comparing two grids by their best rates: one has more rates than the other, a best rate is at
/// the edge, or the rates next to a best one are far away (is_coarse). All of these favour the grid that was searched
/// more thoroughly.
std::vector<std::string> warnings_of(const RateGrid& baseline, const RateGrid& other);

}  // namespace onebit::analysis
