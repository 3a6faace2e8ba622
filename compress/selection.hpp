#pragma once
// Which elements of a vector are the largest, without memory beside it.

#include "compress/bytes.hpp"

namespace onebit::compress {

/// |value| as an integer in the same order: the bits of a finite float without its sign. 0 for 0 and -0.
ONEBIT_HOST_DEVICE inline std::uint32_t magnitude(float value) {
  return bits_as<std::uint32_t>(value) & 0x7FFFFFFFu;
}

/// The elements to send: all above a magnitude, and of those that equal it the first `ties`.
struct Cut {
  std::uint32_t magnitude = 0;
  Index ties = 0;
  Index count = 0;  ///< elements that this sends
};

/// The cut that sends the k largest of the n values at(0), ..., 0 <= k <= n: a radix selection, four passes that count
/// one byte of the magnitudes each, from the highest down. Of equal magnitudes the first are sent.
template <class At>
ONEBIT_HOST_DEVICE inline Cut largest(At at, Index n, Index k) {
  if (k == 0) return {0x7FFFFFFFu, 0, 0};
  std::uint32_t found = 0;  // the bytes of the k-th largest magnitude that are known
  Index rank = k;           // its rank among the elements that agree with them
  for (int shift = 24; shift >= 0; shift -= 8) {
    Index counts[256] = {};
    for (Index i = 0; i < n; ++i) {
      const std::uint32_t m = magnitude(at(i));
      if ((m ^ found) >> shift < 256) ++counts[(m >> shift) & 255u];
    }
    std::uint32_t byte = 255;
    while (counts[byte] < rank) rank -= counts[byte--];
    found |= byte << shift;
  }
  return {found, rank, k};
}

/// The cut that sends all elements that are not 0 and have at least this magnitude.
ONEBIT_HOST_DEVICE inline Cut at_least(const float* y, Index n, std::uint32_t least) {
  Cut cut{least > 0 ? least : 1, n, 0};
  for (Index i = 0; i < n; ++i) cut.count += magnitude(y[i]) >= cut.magnitude ? 1 : 0;
  return cut;
}

struct Elements {
  const float* y;
  ONEBIT_HOST_DEVICE float operator()(Index i) const { return y[i]; }
};

/// The cut that sends the k largest of y.
ONEBIT_HOST_DEVICE inline Cut largest_of(const float* y, Index n, Index k) {
  return largest(Elements{y}, n, k);
}

}  // namespace onebit::compress
