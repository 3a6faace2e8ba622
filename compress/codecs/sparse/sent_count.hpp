#pragma once

#include <cmath>

#include "device/base/types.hpp"

namespace onebit::compress {

/// Number of elements that a sparse codec sends: a share of all elements (at least one), or a fixed number (at most
/// all).
struct SentCount {
  double share = 0;
  Index number = 0;  ///< 0: `share` is used

  /// Returns min(number, n), or ceil(share * n), unaffected by rounding errors of the product.
  ONEBIT_HOST_DEVICE Index of(Index n) const {
    const double product = share * static_cast<double>(n) * (1 - 0x1p-50);
    const Index wanted = number > 0 ? number : static_cast<Index>(std::ceil(product));
    return wanted < n ? wanted : n;
  }
};

}  // namespace onebit::compress
