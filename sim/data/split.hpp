#pragma once
// The only rule that divides examples into a training and a held-out split.

#include <cstdint>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::sim {

/// Size of the held-out split: `share` of `total`, rounded to nearest; at least 1 where share > 0, and at least 1 is
/// left for training. `where` names the data in errors. Throws ConfigError for a share outside [0, 1) and where
/// `total` is too small.
Index holdout_count(Index total, double share, const std::string& where);

/// A permutation of 0 .. total - 1, total <= 2^32. The same in every run, whatever its seed: runs that differ in
/// seed are then evaluated on the same examples.
std::vector<std::uint32_t> fixed_permutation(Index total);

}  // namespace onebit::sim
