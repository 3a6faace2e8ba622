#pragma once
// The accuracy of products on a device.

#include "tests/devices.hpp"
#include "tests/oracle/rounding.hpp"

namespace onebit::tests {

/// Allowed distance of products from sums in double, with operands that the oracle rounded, relative to the sum of
/// absolute terms. A GPU may round otherwise, or not at all.
inline double product_tolerance(const device::Device& device) {
  const bool may_differ = device.is_gpu() && device.precision() != device::Precision::fp32;
  return may_differ ? std::ldexp(4.0, -oracle::mantissa_bits(device.precision())) : 1e-6;
}

}  // namespace onebit::tests
