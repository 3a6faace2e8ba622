#include "sim/data/clicks/zipf.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace onebit::sim {

ZipfRanks::ZipfRanks(Index rows, double exponent) : sums_(static_cast<std::size_t>(rows)) {
  double sum = 0.0;
  for (std::size_t rank = 0; rank < sums_.size(); ++rank) {
    sum += std::pow(static_cast<double>(rank + 1), -exponent);
    sums_[rank] = sum;
  }
  for (std::size_t i = 0, rank = 0; i <= sums_.size(); ++i) {
    const double point = static_cast<double>(i) / static_cast<double>(sums_.size()) * sum;
    while (rank + 1 < sums_.size() && sums_[rank] <= point) ++rank;
    guide_.push_back(static_cast<std::uint32_t>(rank));
  }
}

double ZipfRanks::probability(Index rank) const {
  const auto place = static_cast<std::size_t>(rank);
  return (sums_[place] - (place == 0 ? 0.0 : sums_[place - 1])) / sums_.back();
}

Index ZipfRanks::draw(device::RandomKey key, device::RandomCounter counter) const {
  const auto words = device::philox(key, counter);
  const std::uint64_t bits = (static_cast<std::uint64_t>(words[0]) << 21) ^ (words[1] >> 11);
  const double share = static_cast<double>(bits) * 0x1p-53, point = share * sums_.back();
  const auto place = std::min(static_cast<std::size_t>(share * static_cast<double>(sums_.size())), sums_.size() - 1);
  const auto first = sums_.begin(), last = sums_.end() - 1;
  auto found = std::upper_bound(first + guide_[place], first + guide_[place + 1], point);
  // Rounding may put `point` on the other side of a point of the guide.
  while (found != first && *std::prev(found) > point) --found;
  while (found != last && *found <= point) ++found;
  return static_cast<Index>(found - first);
}

}  // namespace onebit::sim
