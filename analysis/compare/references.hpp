#pragma once
// What each arm is compared with: its own parent, at the parent's best learning rate.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/rate_grid.hpp"

namespace onebit::analysis {

/// Places in the list of arms.
struct References {
  std::size_t baseline = 0;  ///< what arms without a parent among the runs are compared with
  /// By arm: with what it is compared; none: with nothing, being that baseline itself.
  std::vector<std::optional<std::size_t>> of;
  std::vector<std::string> notes;  ///< parents that are not among the runs; a baseline that is not at its best rate
};

/// The arm at a grid's best rate; the first of its arms where it has none.
std::size_t best_arm(const RateGrid& grid);

/// The grid that an arm is in.
const RateGrid& grid_with(std::span<const RateGrid> grids, std::size_t arm);

/// `grids` are rate_grids(arms); there is an arm. The parent of an optimizer is what its registry row says
/// (optim::parent_of); of several grids of the parent the first of those whose other options differ in the least number
/// from the arm's. Where there is none, or no parent, an arm is compared with the first optimizer whose parent is not
/// there either. With `baseline`, the name of an arm, all others are compared with that one. Throws ConfigError for a
/// name that no arm has, with the nearest.
References references_of(std::span<const Arm> arms, std::span<const RateGrid> grids, const std::string& baseline);

}  // namespace onebit::analysis
