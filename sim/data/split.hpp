#pragma once
// The only rule that divides examples into a training and a held-out split.

#include <cstdint>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::sim {

/// Returns the size of the held-out split: `share` of `total`, rounded to the nearest integer, but at least 1 if
/// share > 0, and small enough to leave at least 1 for training. where: names the data in errors. Throws ConfigError
/// for a share outside [0, 1) and if `total` is too small.
Index holdout_count(Index total, double share, const std::string& where);

/// Returns a permutation of 0 .. total - 1 for total <= 2^32. It is the same in every run, whatever its seed, so that
/// runs with different seeds are evaluated on the same examples.
std::vector<std::uint32_t> fixed_permutation(Index total);

}  // namespace onebit::sim
