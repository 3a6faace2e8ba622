#include "sim/data/clicks/zipf.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace onebit::sim {

ZipfRanks::ZipfRanks(Index rows, double exponent) : sums_(static_cast<std::size_t>(rows)) {
  double sum = 0.0;
  for (std::size_t rank = 0; rank < sums_.size(); ++rank) {
    sum += std::pow(static_cast<double>(rank + 1), -exponent);
    sums_[rank] = sum;
  }
}

double ZipfRanks::probability(Index rank) const {
  const auto place = static_cast<std::size_t>(rank);
  return (sums_[place] - (place == 0 ? 0.0 : sums_[place - 1])) / sums_.back();
}

Index ZipfRanks::draw(device::RandomKey key, device::RandomCounter counter) const {
  const auto words = device::philox(key, counter);
  const std::uint64_t bits = (static_cast<std::uint64_t>(words[0]) << 21) ^ (words[1] >> 11);
  const double point = static_cast<double>(bits) * 0x1p-53 * sums_.back();
  const auto found = std::upper_bound(sums_.begin(), sums_.end() - 1, point);
  return static_cast<Index>(found - sums_.begin());
}

}  // namespace onebit::sim
