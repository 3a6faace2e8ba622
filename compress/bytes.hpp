#pragma once
// Numbers in packed bytes, on the host and in kernels: little-endian words at any address, 16-bit floats.

#include <cstdint>

#include "device/types.hpp"

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

/// A finite float as bfloat16; what would round to infinity becomes the largest finite number.
ONEBIT_HOST_DEVICE inline std::uint16_t to_bfloat(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t upper = shift_to_even(bits & 0x7FFFFFFFu, 16);
  const std::uint32_t finite = upper < 0x7F80u ? upper : 0x7F7Fu;
  return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | finite);
}

ONEBIT_HOST_DEVICE inline float from_bfloat(std::uint16_t value) {
  return bits_as<float>(static_cast<std::uint32_t>(value) << 16);
}

/// A float within +-65504 as IEEE binary16.
ONEBIT_HOST_DEVICE inline std::uint16_t to_half(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  std::uint32_t half = 0;
  if (magnitude >= 0x38800000u) {  // 2^-14: normal
    half = shift_to_even(magnitude - 0x38000000u, 13);
  } else if (magnitude > 0x33000000u) {  // above 2^-25: subnormal, in units of 2^-24
    const std::uint32_t shift = 126u - (magnitude >> 23);
    half = shift_to_even((magnitude & 0x7FFFFFu) | 0x800000u, shift);
  }
  return static_cast<std::uint16_t>(sign | half);
}

ONEBIT_HOST_DEVICE inline float from_half(std::uint16_t value) {
  const std::uint32_t exponent = (value >> 10) & 0x1Fu, mantissa = value & 0x3FFu;
  const float magnitude = exponent == 0 ? static_cast<float>(mantissa) * 0x1p-24f
                                        : bits_as<float>(((exponent + 112u) << 23) | (mantissa << 13));
  return (value & 0x8000u) != 0 ? -magnitude : magnitude;
}

}  // namespace onebit::compress
