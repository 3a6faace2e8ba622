#pragma once
// float32 rounded to fewer bits of mantissa, as operands of matrix products.

#include <cstring>

#include "device/math/precision.hpp"
#include "device/base/types.hpp"

namespace onebit::device {

/// Bits of a float32's mantissa that a precision leaves out.
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

/// To nearest, ties to even, what is too large to infinity; NaN stays. dropped is at least 1.
ONEBIT_HOST_DEVICE inline float without_bits(float value, unsigned dropped) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t unit = 1u << dropped;
  // Adding to the bits carries into the exponent as rounding up does.
  const std::uint32_t rounded = (bits + (unit / 2 - 1) + (bits >> dropped & 1)) & ~(unit - 1);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return value;
  std::memcpy(&value, &rounded, sizeof value);
  return value;
}

}  // namespace onebit::device
