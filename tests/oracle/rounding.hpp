#pragma once
// Numbers of fewer bits, by arithmetic in double precision instead of by bits.

#include <cmath>
#include <limits>
#include <vector>

#include "device/math/precision.hpp"

namespace onebit::oracle {

/// Returns the number of mantissa bits that are stored.
inline int mantissa_bits(device::Precision precision) {
  return precision == device::Precision::fp32 ? 23 : precision == device::Precision::tf32 ? 10 : 7;
}

/// Returns the nearest number with float32's exponents and this many bits, ties to even; beyond the largest: infinity.
inline double rounded(device::Precision precision, float value) {
  const auto exact = static_cast<double>(value);
  if (!std::isfinite(exact) || exact == 0) return exact;
  int exponent = 0;
  std::frexp(exact, &exponent);  // exact = f * 2^exponent, 0.5 <= |f| < 1
  const int unit = std::max(exponent, -125) - 1 - mantissa_bits(precision);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(exact, -unit)), unit);
  return std::fabs(nearest) < 0x1p128 ? nearest : std::copysign(std::numeric_limits<double>::infinity(), nearest);
}

inline std::vector<float> rounded(device::Precision precision, std::vector<float> values) {
  for (float& value : values) value = static_cast<float>(rounded(precision, value));
  return values;
}

}  // namespace onebit::oracle
