#pragma once

#include <cmath>
#include <limits>

#include "compress/codecs/sparse/selection.hpp"

namespace onebit::sim {

/// Order statistics of the positive numbers of each tensor; NaN if there are none. They are exact, so they are the same
/// on every backend.
struct PositiveRanksKernel {
  static constexpr Index kSample = Index{1} << 16;  ///< largest number of coordinates that are ranked in a tensor
  static constexpr Index kResults = 3;

  const float* values;
  const Range* tensors;
  float* results;  ///< [tensors][kResults]: the smallest of all, the sample's 1st percentile, its lower median

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index tensor, const Lanes& lanes) const {
    const Index n = tensors[tensor].count, stride = ceil_div(n, kSample);
    if (n == 0) return store(tensor, lanes, kNone, kNone, kNone);
    const float* own = values + tensors[tensor].first;
    const float least = -lanes.largest(n, [own](Index i) { return own[i] > 0 ? -own[i] : -HUGE_VALF; });
    const auto sampled = [own, stride](Index i) { return own[i * stride] > 0 ? own[i * stride] : 0.0f; };
    const Index sample = ceil_div(n, stride);
    const auto positive =
        static_cast<Index>(lanes.sum(sample, [&sampled](Index i) { return sampled(i) > 0 ? 1.0 : 0.0; }));
    const auto quantile = [&](Index parts, Index of) {
      if (positive == 0) return kNone;
      const Index rank = positive - (positive - 1) * parts / of;  // 1 is the largest
      return compress::bits_as<float>(compress::ranked_magnitude(sampled, sample, rank, lanes).magnitude);
    };
    const float low = quantile(1, 100), median = quantile(1, 2);
    store(tensor, lanes, least < HUGE_VALF ? least : kNone, low, median);
  }

 private:
  static constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

  template <class Lanes>
  ONEBIT_DEVICE void store(Index tensor, const Lanes& lanes, float least, float low, float median) const {
    lanes.once([&] {
      float* out = results + tensor * kResults;
      out[0] = least;
      out[1] = low;
      out[2] = median;
    });
  }
};

}  // namespace onebit::sim
