#pragma once
// Rounds float32 to fewer bits of mantissa, for operands of matrix products.

#include <cstring>

#include "device/base/types.hpp"
#include "device/math/precision.hpp"

namespace onebit::device {

/// Number of bits of a float32's mantissa that a precision leaves out.
constexpr unsigned dropped_bits(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return 13;
    case Precision::bf16:
      return 16;
    default:
      return 0;
  }
}

/// Rounds off the last `dropped` >= 1 bits of the mantissa: to nearest, ties to even. Numbers that become too large
/// become infinity; NaN stays NaN.
ONEBIT_HOST_DEVICE inline float without_bits(float value, unsigned dropped) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t unit = 1u << dropped;
  // The addition carries into the exponent if rounding up increases it.
  const std::uint32_t rounded = (bits + (unit / 2 - 1) + (bits >> dropped & 1)) & ~(unit - 1);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return value;
  std::memcpy(&value, &rounded, sizeof value);
  return value;
}

}  // namespace onebit::device
