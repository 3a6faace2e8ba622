#pragma once
// Zipf's law: how often the ids of a table occur.

#include <cstdint>
#include <vector>

#include "device/math/philox.hpp"

namespace onebit::sim {

/// Ranks 0 to rows - 1, where rank r has a probability proportional to (r + 1)^-exponent.
class ZipfRanks {
 public:
  /// Makes the distribution. rows > 0, exponent >= 0.
  ZipfRanks(Index rows, double exponent);

  double probability(Index rank) const;

  /// Draws a rank by inversion, from 53 random bits.
  Index draw(device::RandomKey key, device::RandomCounter counter) const;

 private:
  std::vector<double> sums_;          // sum of the weights up to and including each rank
  std::vector<std::uint32_t> guide_;  // [i]: the rank at i/rows; a draw's rank is searched for between two of these
};

}  // namespace onebit::sim
