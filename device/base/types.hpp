#pragma once
// The types that all rooms share.

#include <cstddef>
#include <cstdint>

// Marks a function that runs on the device as well as on the host.
#if defined(__CUDACC__)
#define ONEBIT_HOST_DEVICE __host__ __device__
#define ONEBIT_DEVICE __device__  // marks a function that calls device-only code
#else
#define ONEBIT_HOST_DEVICE
#define ONEBIT_DEVICE
#endif

namespace onebit {

/// Type of every index and size: signed and 64 bits wide, so that differences and products of sizes are safe.
using Index = std::int64_t;

/// a / b rounded up, for a >= 0 and b > 0.
ONEBIT_HOST_DEVICE constexpr Index ceil_div(Index a, Index b) {
  return (a + b - 1) / b;
}

/// a rounded up to a multiple of b.
ONEBIT_HOST_DEVICE constexpr Index round_up(Index a, Index b) {
  return ceil_div(a, b) * b;
}

/// Consecutive items, e.g. a group of workers: [first, first + count).
struct Range {
  Index first = 0;
  Index count = 0;
  ONEBIT_HOST_DEVICE constexpr Index end() const { return first + count; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

}  // namespace onebit
