#include "sim/data/split.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "device/base/error.hpp"
#include "device/math/philox.hpp"

namespace onebit::sim {

Index holdout_count(Index total, double share, const std::string& where) {
  if (!(share >= 0.0 && share < 1.0)) {  // NaN is refused too
    throw ConfigError("option out of range: " + std::to_string(share), "--data.holdout", "at least 0 and below 1");
  }
  const Index least = share > 0.0 ? 1 : 0;
  if (total < least + 1) {
    throw ConfigError(
        "too little data: size " + std::to_string(total) + ", at least " + std::to_string(least + 1) + " is needed",
        where, least > 0 ? "give more data; --data.holdout sets apart a share of them" : "give more data");
  }
  return std::clamp<Index>(std::llround(share * static_cast<double>(total)), least, total - 1);
}

std::vector<std::uint32_t> fixed_permutation(Index total) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(total));
  std::iota(order.begin(), order.end(), 0U);
  const device::RandomKey key{0, device::Purpose::split};
  for (Index i = total - 1; i > 0; --i) {
    const Index j = device::uniform_index(key, {0, 0, i}, i + 1);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  return order;
}

}  // namespace onebit::sim
