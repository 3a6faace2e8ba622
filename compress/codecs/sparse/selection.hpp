#pragma once
// Selection of the largest elements of a vector, without extra memory.

#include "compress/codecs/bytes.hpp"
#include "device/launch/lanes.hpp"

namespace onebit::compress {

/// Maps |value| to an integer that preserves the order: the bits of a finite float without its sign. 0 for 0 and -0.
ONEBIT_HOST_DEVICE inline std::uint32_t magnitude(float value) {
  return bits_as<std::uint32_t>(value) & 0x7FFFFFFFu;
}

/// The elements to send: all above a magnitude, and those of exactly this magnitude up to index `last`.
struct Cut {
  std::uint32_t magnitude = 0;
  Index last = -1;
  Index count = 0;  ///< number of elements that are sent

  ONEBIT_HOST_DEVICE bool sends(Index i, float value) const {
    const std::uint32_t size = compress::magnitude(value);
    return size > magnitude || (size == magnitude && i <= last);
  }
};

/// Number of times that `ranked_magnitude` reads its values.
inline constexpr double kSelectionPasses = 3;

/// A magnitude, the number of elements that have this magnitude, and the rank among them of the element that was sought
/// (1 is the first).
struct RankedMagnitude {
  std::uint32_t magnitude;
  Index rank, count;
};

/// Finds the k-th largest magnitude of the n values at(0), ..., where 1 <= k <= n. This is a radix selection: three
/// passes count by 11, 10 and 10 bits of the magnitudes, from the highest down.
template <class At, class Lanes>
ONEBIT_DEVICE RankedMagnitude ranked_magnitude(const At& at, Index n, Index k, const Lanes& lanes) {
  std::uint32_t found = 0;      // the known digits of the k-th largest magnitude
  device::Ranked kth{0, k, n};  // its rank among the elements with these digits
  for (int shift = 20; shift >= 0; shift -= 10) {
    const std::uint32_t digits = shift == 20 ? 2048 : 1024;
    kth = lanes.ranked(n, kth.rank, [&at, found, shift, digits](Index i) {
      const std::uint32_t digit = (magnitude(at(i)) ^ found) >> shift;
      return digit < digits ? digit : device::kBins;
    });
    found |= kth.bin << shift;
  }
  return {found, kth.rank, kth.count};
}

/// Returns the cut that sends the k largest of the n values at(0), ..., where 0 <= k <= n. Of equal magnitudes, the
/// first ones are sent.
template <class At, class Lanes>
ONEBIT_DEVICE Cut largest(const At& at, Index n, Index k, const Lanes& lanes) {
  if (k == 0) return {0x7FFFFFFFu, -1, 0};
  const RankedMagnitude kth = ranked_magnitude(at, n, k, lanes);
  if (kth.rank == kth.count) return {kth.magnitude, n, k};
  const auto ties = [&at, &kth](Index i) { return magnitude(at(i)) == kth.magnitude; };
  return {kth.magnitude, lanes.nth(n, kth.rank - 1, ties), k};
}

/// Returns the cut that sends all nonzero elements of at least this magnitude.
template <class Lanes>
ONEBIT_DEVICE Cut at_least(const float* y, Index n, std::uint32_t least, const Lanes& lanes) {
  if (least == 0) least = 1;
  const double count = lanes.sum(n, [y, least](Index i) { return magnitude(y[i]) >= least ? 1.0 : 0.0; });
  return {least, n, static_cast<Index>(count)};
}

struct Elements {
  const float* y;
  ONEBIT_HOST_DEVICE float operator()(Index i) const { return y[i]; }
};

/// Returns the cut that sends the k elements of y with the largest magnitudes.
template <class Lanes>
ONEBIT_DEVICE Cut largest_of(const float* y, Index n, Index k, const Lanes& lanes) {
  return largest(Elements{y}, n, k, lanes);
}

}  // namespace onebit::compress
