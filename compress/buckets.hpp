#pragma once
// Blocks of elements that share a scale inside a segment, and the scales.

#include <cmath>

#include "compress/bytes.hpp"

namespace onebit::compress {

/// n elements cut into runs of `size`, the last one shorter; block 0: one run of all of them. A float32 is sent for
/// each.
struct Buckets {
  Index n;
  Index size;

  ONEBIT_HOST_DEVICE Buckets(Index elements, Index block)
      : n(elements), size(block > 0 && block < elements ? block : elements) {}

  ONEBIT_HOST_DEVICE Index count() const { return n > 0 ? ceil_div(n, size) : 0; }
  ONEBIT_HOST_DEVICE Index bytes() const { return 4 * count(); }
  ONEBIT_HOST_DEVICE Index end(Index first) const { return n - first > size ? first + size : n; }
  ONEBIT_HOST_DEVICE Index place(Index first) const { return 4 * (first / size); }
};

/// max |y|, 0 for none.
ONEBIT_HOST_DEVICE inline float largest_size(const float* y, Index n) {
  float most = 0;
  for (Index i = 0; i < n; ++i) {
    if (std::fabs(y[i]) > most) most = std::fabs(y[i]);
  }
  return most;
}

/// ||y||_2, not above the largest float.
ONEBIT_HOST_DEVICE inline float euclidean_norm(const float* y, Index n) {
  double squares = 0;
  for (Index i = 0; i < n; ++i) squares += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  return to_finite(std::sqrt(squares));
}

}  // namespace onebit::compress
