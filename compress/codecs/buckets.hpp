#pragma once
// Blocks of elements of a segment that share a scale, and their scales.

#include <cmath>

#include "compress/codecs/bytes.hpp"
#include "device/launch/lanes.hpp"

namespace onebit::compress {

/// Cuts n elements into runs of `size`; the last one may be shorter. If `block` is 0, all elements are one run. One
/// float32 is sent per run.
struct Buckets {
  Index n;
  Index size;

  ONEBIT_HOST_DEVICE Buckets(Index elements, Index block)
      : n(elements), size(block > 0 && block < elements ? block : elements) {}

  ONEBIT_HOST_DEVICE Index count() const { return n > 0 ? ceil_div(n, size) : 0; }
  ONEBIT_HOST_DEVICE Index bytes() const { return 4 * count(); }
  ONEBIT_HOST_DEVICE Index end(Index first) const { return n - first > size ? first + size : n; }
};

/// Stores norm(y, elements, lanes) of every bucket of y at its place in `out`. All lanes can read the norms
/// afterwards.
template <class Norm, class Lanes>
ONEBIT_DEVICE void store_norms(const float* y, const Buckets& buckets, std::uint8_t* out, const Norm& norm,
                               const Lanes& lanes) {
  lanes.each_piece(buckets.count(), buckets.size, [&](Index bucket, const auto& own) {
    const Index first = bucket * buckets.size;
    const float value = norm(y + first, buckets.end(first) - first, own);
    own.once([&] { store(out + 4 * bucket, value); });
  });
  lanes.barrier();
}

/// max |y| of n > 0 elements.
struct LargestSize {
  template <class Lanes>
  ONEBIT_DEVICE float operator()(const float* y, Index n, const Lanes& lanes) const {
    const float most = lanes.largest(n, [y](Index i) { return std::fabs(y[i]); });
    return most == 0.0f ? 0.0f : most;  // for a denormal: fabs keeps it on a CPU, but a GPU makes it 0
  }
};

/// ||y||_2 / sqrt(n) of n > 0 elements.
struct RootMeanSquare {
  template <class Lanes>
  ONEBIT_DEVICE float operator()(const float* y, Index n, const Lanes& lanes) const {
    const double squares = lanes.sum(n, [y](Index i) { return static_cast<double>(y[i]) * static_cast<double>(y[i]); });
    return static_cast<float>(std::sqrt(squares / static_cast<double>(n)));
  }
};

/// ||y||_2, limited to the largest float.
struct EuclideanNorm {
  template <class Lanes>
  ONEBIT_DEVICE float operator()(const float* y, Index n, const Lanes& lanes) const {
    const double squares = lanes.sum(n, [y](Index i) { return static_cast<double>(y[i]) * static_cast<double>(y[i]); });
    return to_finite(std::sqrt(squares));
  }
};

}  // namespace onebit::compress
