#pragma once
// What is measured of an encoding, an element at a time.

#include "compress/layout.hpp"

namespace onebit::compress {

/// e^2 of the errors that an encoding left and, with `decoded`, y^2 = (e + C[y])^2 of what was encoded.
struct ErrorKernel {
  const Segment* segments;
  const float* errors;
  const float* decoded;
  ONEBIT_HOST_DEVICE double operator()(Index, Index segment, Index i) const {
    const Segment& s = segments[segment];
    const auto e = static_cast<double>(errors[s.state + i]);
    const double y = decoded == nullptr ? e : e + static_cast<double>(decoded[s.parameter + i]);
    return y * y;
  }
};

}  // namespace onebit::compress
