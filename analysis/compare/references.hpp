#pragma once
// The arm that each arm is compared with: its own parent, at the parent's best learning rate.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/rate_grid.hpp"

namespace onebit::analysis {

/// For each arm, the index (in the list of arms) of the arm with which it is compared.
struct References {
  std::size_t baseline = 0;  ///< arm that arms without a parent among the runs are compared with
  /// The arm with which each arm is compared, [arms]; none for the baseline itself.
  std::vector<std::optional<std::size_t>> of;
  std::vector<std::string> notes;  ///< notes on missing parents and on a baseline that is not at its best rate
};

/// Returns the arm at a grid's best rate; the grid's first arm if no rate is best.
std::size_t best_arm(const RateGrid& grid);

/// Returns the grid that contains an arm.
const RateGrid& grid_with(std::span<const RateGrid> grids, std::size_t arm);

/// Chooses the arm that each arm is compared with. `grids` are rate_grids(arms); there is at least one arm. The parent
/// of an optimizer comes from its registry row (optim::parent_of). If the parent has several grids, the arm is compared
/// with the grid whose other options differ least from its own, or with the first of several that differ equally
/// little. All arms without a parent among the runs are compared with one of them, the root, at the best rate of its
/// grid; but an arm whose optimizer is not the root's is compared with the grid of the root's optimizer whose other
/// options differ least from its own. An arm that neither diverged nor ended above its starting loss is preferred;
/// among such arms, the one called "dense" or else one whose optimizer has no parent; among those, the parent of most
/// other arms, or the first of several. If `baseline` names an arm, all others are compared with it; if it names a
/// grid, all others are compared with the arm at the grid's best rate. Throws ConfigError if `baseline` is the name of
/// neither an arm nor a grid; the message contains the nearest name of an arm.
References references_of(std::span<const Arm> arms, std::span<const RateGrid> grids, const std::string& baseline);

}  // namespace onebit::analysis
