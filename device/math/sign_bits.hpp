#pragma once
// Packed signs: one bit per element, 1 for +, MSB first (element 8k+j is bit 7-j of byte k), as numpy.packbits and the
// CUDA backend of DeepSpeed write them.

#include "device/base/types.hpp"

namespace onebit::device {

/// Sign of element i: +1 or -1.
ONEBIT_HOST_DEVICE inline float sign_at(const std::uint8_t* bits, Index i) {
  return ((bits[i >> 3] >> (7 - (i & 7))) & 1) != 0 ? 1.0f : -1.0f;
}

/// Whether a value is sent as +. Zero of either sign is +; NaN is -.
ONEBIT_HOST_DEVICE inline bool sent_as_plus(float value) {
  return value >= 0.0f;
}

/// Where packed signs are stored: `rows` payloads of row_bytes bytes; segment s of a payload starts at byte_offset[s].
struct SignRows {
  Index rows = 0;
  std::uint8_t* bits = nullptr;
  Index row_bytes = 0;
  const Index* byte_offset = nullptr;
};

/// Number of rows of packed signs that are summed together. On the CPU, their sum is one look-up in a table of 2^8
/// numbers.
inline constexpr Index kSignBlock = 8;

/// Packed signs with their scales: row r's scale of segment s is scales[r * scale_count + s / segments_per_scale].
struct ScaledSignRows {
  SignRows signs;
  const float* scales = nullptr;
  Index scale_count = 0;
  Index segments_per_scale = 1;
};

/// Where a segment is stored in a row of packed signs. The segment is part of a vector whose signs begin at a byte
/// boundary and whose elements share scales in runs.
struct SignPlace {
  Index byte = 0;       ///< byte of the vector's first sign
  Index scale = 0;      ///< index of the vector's first scale
  Index per_scale = 8;  ///< number of elements that share a scale, a multiple of 8
  Index first = 0;      ///< the segment's first element, counted from the vector's first
};

/// A row of packed signs with their scales, in segments that may begin and end anywhere.
struct SignVector {
  const std::uint8_t* bits = nullptr;
  const float* scales = nullptr;
  const SignPlace* places = nullptr;  ///< [segments]: where each segment is stored
};

}  // namespace onebit::device
