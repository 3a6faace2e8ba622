#include "sim/models/auc.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::sim {

double area_under_curve(std::span<const float> scores, std::span<const std::int32_t> labels) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  if (std::ranges::any_of(scores, [](float score) { return std::isnan(score); })) return none;
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  // Half pairs: 2 for each pair in which the example of label 0 has the lower score, and 1 for each pair with equal
  // scores.
  Index halves = 0, zeros = 0, ones = 0;
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    Index equal_zeros = 0, equal_ones = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[first]]; ++end) {
      ++(labels[order[end]] == 1 ? equal_ones : equal_zeros);
    }
    halves += equal_ones * (2 * zeros + equal_zeros);
    zeros += equal_zeros;
    ones += equal_ones;
  }
  if (zeros == 0 || ones == 0) return none;
  return static_cast<double>(halves) / 2.0 / (static_cast<double>(zeros) * static_cast<double>(ones));
}

}  // namespace onebit::sim
