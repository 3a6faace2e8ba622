#pragma once

#include <cmath>

#include "compress/codecs/bytes.hpp"
#include "compress/codecs/segment_kernels.hpp"

namespace onebit::compress {

/// Sends the largest element of a segment alone: its index (uint32) and its value (float32), 8 bytes.
/// ||x - C[x]||^2 <= (1 - 1/n) ||x||^2.
struct Largest {
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return n > 0 ? 8 : 0; }
  double delta(Index n) const { return n > 0 ? 1 / static_cast<double>(n) : 1; }

  ONEBIT_HOST_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out) const {
    if (in.n == 0) return 0;
    Index best = 0;
    for (Index i = 1; i < in.n; ++i) {
      if (std::fabs(in.y[i]) > std::fabs(in.y[best])) best = i;
    }
    store(out, static_cast<std::uint32_t>(best));
    store(out + 4, in.y[best]);
    in.y[best] = 0;  // what is left is the error
    return 8;
  }

  template <class Use>
  ONEBIT_HOST_DEVICE void decode(const std::uint8_t* in, Index n, Use use) const {
    if (n > 0) use(load<std::uint32_t>(in), load<float>(in + 4));
  }
};

}  // namespace onebit::compress
