#pragma once
// Numbers in packed bytes, on the host and in kernels: little-endian words at any address, and small floats.

#include <cstdint>

#include "device/base/types.hpp"

namespace onebit::compress {

template <class T>
ONEBIT_HOST_DEVICE inline void store(std::uint8_t* out, T value) {
  __builtin_memcpy(out, &value, sizeof value);
}

template <class T>
ONEBIT_HOST_DEVICE inline T load(const std::uint8_t* in) {
  T value;
  __builtin_memcpy(&value, in, sizeof value);
  return value;
}

template <class To, class From>
ONEBIT_HOST_DEVICE inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

/// value >> shift, rounded to nearest, ties to even.
ONEBIT_HOST_DEVICE inline std::uint32_t shift_to_even(std::uint32_t value, std::uint32_t shift) {
  const std::uint32_t odd = (value >> shift) & 1u;
  return (value + (1u << (shift - 1)) - 1u + odd) >> shift;
}

/// Converts a finite float to bfloat16; numbers that would round to infinity become the largest finite one.
ONEBIT_HOST_DEVICE inline std::uint16_t to_bfloat(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t upper = shift_to_even(bits & 0x7FFFFFFFu, 16);
  const std::uint32_t finite = upper < 0x7F80u ? upper : 0x7F7Fu;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | finite);
}

ONEBIT_HOST_DEVICE inline float from_bfloat(std::uint16_t value) {
  return bits_as<float>(static_cast<std::uint32_t>(value) << 16);
}

/// Converts a float to a smaller format of sign, exponent and mantissa with IEEE's bias and subnormals, rounded to
/// nearest even. The float must be in the range of the smaller format.
template <unsigned exponent_bits, unsigned mantissa_bits>
ONEBIT_HOST_DEVICE inline std::uint32_t to_small_float(float value) {
  constexpr std::uint32_t bias = 128u - (1u << (exponent_bits - 1)), shift = 23u - mantissa_bits;
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31, magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t small = 0;
  if (magnitude >= (bias + 1u) << 23) {
    small = shift_to_even(magnitude - (bias << 23), shift);
  } else if (magnitude > (bias - mantissa_bits) << 23) {  // above half of the smallest subnormal
    small = shift_to_even((magnitude & 0x7FFFFFu) | 0x800000u, bias + 1u + shift - (magnitude >> 23));
  }
  return (sign << (exponent_bits + mantissa_bits)) | small;
}

template <unsigned exponent_bits, unsigned mantissa_bits>
ONEBIT_HOST_DEVICE inline float from_small_float(std::uint32_t value) {
  constexpr std::uint32_t bias = 128u - (1u << (exponent_bits - 1)), shift = 23u - mantissa_bits;
  const std::uint32_t exponent = (value >> mantissa_bits) & ((1u << exponent_bits) - 1u);
  const std::uint32_t mantissa = value & ((1u << mantissa_bits) - 1u);
  const auto smallest = bits_as<float>((bias + 1u - mantissa_bits) << 23);
  const float magnitude = exponent == 0 ? static_cast<float>(mantissa) * smallest
                                        : bits_as<float>(((exponent + bias) << 23) | (mantissa << shift));
  return ((value >> (exponent_bits + mantissa_bits)) & 1u) != 0 ? -magnitude : magnitude;
}

/// Converts a float within ±65,504 to IEEE binary16.
ONEBIT_HOST_DEVICE inline std::uint16_t to_half(float value) {
  return static_cast<std::uint16_t>(to_small_float<5, 10>(value));
}

ONEBIT_HOST_DEVICE inline float from_half(std::uint16_t value) {
  return from_small_float<5, 10>(value);
}

/// Returns the nearest float, or the largest finite one for a number above it.
ONEBIT_HOST_DEVICE inline float to_finite(double value) {
  constexpr float largest = 0x1.fffffep127f;
  return value < static_cast<double>(largest) ? static_cast<float>(value) : largest;
}

}  // namespace onebit::compress
