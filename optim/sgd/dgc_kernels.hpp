#pragma once

#include "compress/layout/layout.hpp"

namespace onebit::optim {

/// DGC's momentum factor masking: sets the momentum to 0 where the codec left no error. Yields 1 there, else 0.
struct ForgetSentKernel {
  const compress::Segment* segments;
  const float* errors;
  Index error_stride;
  float* momentum;  ///< [rows][parameters]
  Index parameters;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index segment, Index i) const {
    const compress::Segment& s = segments[segment];
    if (errors[row * error_stride + s.state + i] != 0.0f) return 0;
    momentum[row * parameters + s.parameter + i] = 0;
    return 1;
  }
};

}  // namespace onebit::optim
