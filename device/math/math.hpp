#pragma once
// exp and erf of floats for kernels: plain arithmetic without branches, so that loops over them vectorise, and with the
// same bits on every backend. Polynomials are minimax fits.

#include <cstring>

#include "device/base/types.hpp"

namespace onebit::device {

namespace detail {

/// 2^n for n in [-126, 127].
ONEBIT_HOST_DEVICE inline float power_of_two(std::int32_t n) {
  const std::uint32_t bits = static_cast<std::uint32_t>(n + 127) << 23;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// e^r for |r| <= ln(2) / 2.
ONEBIT_HOST_DEVICE inline float exp_reduced(float r) {
  float p = 0.00139517034f;
  p = p * r + 0.00836959109f;
  p = p * r + 0.0416661873f;
  p = p * r + 0.166665137f;
  p = p * r + 0.5f;
  return 1.0f + (r + r * r * p);
}

/// (erf(x) - x) / x for |x| <= 0.9, a function of s = x^2.
ONEBIT_HOST_DEVICE inline float erf_small(float s) {
  float p = -0.000610928691f;
  p = p * s + 0.00501586357f;
  p = p * s - 0.0267817285f;
  p = p * s + 0.112822242f;
  p = p * s - 0.376125306f;
  return p * s + 0.128379151f;
}

/// -log(1 - erf(t)) for t in [0.9, 4].
ONEBIT_HOST_DEVICE inline float erf_large(float t) {
  float p = -0.000214153784f;
  p = p * t + 0.00321645103f;
  p = p * t - 0.0228951238f;
  p = p * t + 0.105270505f;
  p = p * t + 0.635711253f;
  return (p * t + 1.12851655f) * t;
}

}  // namespace detail

/// e^x, accurate to 2 units in the last place; results below the normal range may be 0. exp(-inf) = 0, exp(inf) = inf,
/// exp(NaN) = NaN.
ONEBIT_HOST_DEVICE inline float exp(float x) {
  constexpr float log2_e = 1.44269504f;
  constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;  // n * ln2_high is exact
  constexpr float round = 12582912.0f;                                 // 1.5 * 2^23: adding it rounds to an integer
  float inside = x < -104.0f ? -104.0f : x;                            // NaN fails both comparisons, so it stays NaN
  inside = inside > 89.0f ? 89.0f : inside;
  const float n = (inside * log2_e + round) - round;
  const float r = (inside - n * ln2_high) - n * ln2_low;
  const auto whole = static_cast<std::int32_t>(n == n ? n : 0.0f);
  const std::int32_t half = whole >> 1;  // 2^n alone can be out of range
  return detail::exp_reduced(r) * detail::power_of_two(half) * detail::power_of_two(whole - half);
}

/// The error function, accurate to 1.2e-7 and, for |x| >= 1e-36, to 2 units in the last place. erf(±inf) = ±1,
/// erf(-0) = -0, erf(NaN) = NaN.
ONEBIT_HOST_DEVICE inline float erf(float x) {
  const float size = x < 0.0f ? -x : x;
  const float small = x + x * detail::erf_small(x * x);
  const float large = 1.0f - exp(-detail::erf_large(size < 4.0f ? size : 4.0f));
  return size > 0.9f ? (x < 0.0f ? -large : large) : small;
}

}  // namespace onebit::device
