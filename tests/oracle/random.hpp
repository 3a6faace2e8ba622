#pragma once
// Reproducible test data.

#include <cmath>
#include <vector>

#include "device/math/philox.hpp"

namespace onebit::oracle {

/// Returns standard normal numbers that depend only on the arguments.
inline std::vector<float> normals(Index count, std::uint32_t seed, Index step = 0, Index worker = 0) {
  std::vector<float> values;
  for (Index i = 0; i < count; ++i) {
    values.push_back(device::normal({seed, device::Purpose::data}, {step, worker, i}));
  }
  return values;
}

/// Whole numbers in [-bound, bound]: sums and means of a few of them are exact in float.
inline std::vector<float> whole_numbers(Index count, Index bound, std::uint32_t seed, Index step = 0,
                                        Index worker = 0) {
  std::vector<float> values;
  for (Index i = 0; i < count; ++i) {
    const Index drawn = device::uniform_index({seed, device::Purpose::data}, {step, worker, i}, 2 * bound + 1);
    values.push_back(static_cast<float>(drawn - bound));
  }
  return values;
}

}  // namespace onebit::oracle
