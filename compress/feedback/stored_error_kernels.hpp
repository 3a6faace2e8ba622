#pragma once
// Errors stored in fewer bytes than float32: conversion to the stored form and back, by elements or blocks.

#include <cmath>

#include "compress/codecs/bytes.hpp"

namespace onebit::compress {

/// Converts a float to bfloat16, rounded to nearest even. Non-finite numbers remain non-finite.
ONEBIT_HOST_DEVICE inline std::uint16_t to_kept_bfloat(float value) {
  const auto bits = bits_as<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude < 0x7F800000u) return to_bfloat(value);
  return static_cast<std::uint16_t>((bits >> 16) | (magnitude > 0x7F800000u ? 0x40u : 0u));
}

struct KeepBfloatKernel {
  const float* values;
  std::uint16_t* kept;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { kept[i] = to_kept_bfloat(values[i]); }
};

struct ExpandBfloatKernel {
  const std::uint16_t* kept;
  float* values;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { values[i] = from_bfloat(kept[i]); }
};

struct ScaleBfloatKernel {
  std::uint16_t* kept;
  float factor;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { kept[i] = to_kept_bfloat(from_bfloat(kept[i]) * factor); }
};

/// Cuts rows into blocks that share a scale; the last block of a row may be shorter. Blocks are numbered across the
/// rows.
struct RowBlocks {
  static constexpr Index kSize = 256;
  Index stride;  ///< elements of a row

  ONEBIT_HOST_DEVICE Index of_row() const { return ceil_div(stride, kSize); }
  /// First element of a block, and its number of elements.
  ONEBIT_HOST_DEVICE Index first(Index block) const { return block / of_row() * stride + block % of_row() * kSize; }
  ONEBIT_HOST_DEVICE Index size(Index block) const {
    const Index rest = stride - block % of_row() * kSize;
    return rest < kSize ? rest : kSize;
  }
};

/// Stores an element as an integer number of steps, rounded to nearest even. A step is max|e| / 127, where the maximum
/// is over the finite elements of the block; the largest element is exact. -128 stands for an element that is not
/// finite, which is read back as NaN. A block keeps max|e| rather than the step, because max|e| is a float32 already.
/// As a float32, the step could become 0 by underflow, and its reciprocal could overflow.
struct ByteSteps {
  static constexpr double kLargest = 127;
  static constexpr std::int8_t kNotFinite = -128;
  double of_one, size;

  ONEBIT_HOST_DEVICE explicit ByteSteps(float largest)
      : of_one(largest > 0.0f ? kLargest / static_cast<double>(largest) : 0.0),
        size(static_cast<double>(largest) / kLargest) {}
  ONEBIT_HOST_DEVICE static std::int32_t magnitude(float value) { return bits_as<std::int32_t>(value) & 0x7FFFFFFF; }
  ONEBIT_HOST_DEVICE static bool finite(std::int32_t magnitude) { return magnitude < 0x7F800000; }

  ONEBIT_HOST_DEVICE std::int8_t keep(float value) const {
    const bool is_finite = finite(magnitude(value));
    const double steps = is_finite ? static_cast<double>(value) * of_one : 0.0;
    return is_finite ? static_cast<std::int8_t>(static_cast<std::int32_t>(std::rint(steps))) : kNotFinite;
  }
  ONEBIT_HOST_DEVICE float expand(std::int8_t kept) const {
    const auto value = static_cast<float>(static_cast<double>(kept) * size);
    return kept == kNotFinite ? bits_as<float>(0x7FC00000u) : value;
  }
};

/// Computes largest[block] = max|e| over the block's finite elements.
struct LargestOfBlockKernel {
  RowBlocks blocks;
  const float* values;
  float* largest;
  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index block, const Lanes& lanes) const {
    const float* e = values + blocks.first(block);
    const float most = lanes.largest(blocks.size(block), [e](Index i) {
      const std::int32_t size = ByteSteps::magnitude(e[i]);
      return bits_as<float>(ByteSteps::finite(size) ? size : 0);
    });
    lanes.once([&] { largest[block] = most; });
  }
};

/// Stores the elements of a block as bytes.
struct KeepByteKernel {
  RowBlocks blocks;
  const float* values;
  const float* largest;
  std::int8_t* kept;
  ONEBIT_HOST_DEVICE void operator()(Index block, Index i) const { columns<1>(block, i); }

  template <Index count>
  ONEBIT_HOST_DEVICE void columns(Index block, Index first) const {
    const ByteSteps steps(largest[block]);
    const Index at = blocks.first(block) + first, rest = blocks.size(block) - first;
    const float* from = values + at;
    std::int8_t* to = kept + at;
    if (rest >= count) {
#pragma omp simd
      for (Index c = 0; c < count; ++c) to[c] = steps.keep(from[c]);
    } else {
      for (Index c = 0; c < rest; ++c) to[c] = steps.keep(from[c]);
    }
  }
};

struct ExpandByteKernel {
  RowBlocks blocks;
  const std::int8_t* kept;
  const float* largest;
  float* values;
  ONEBIT_HOST_DEVICE void operator()(Index block, Index i) const { columns<1>(block, i); }

  template <Index count>
  ONEBIT_HOST_DEVICE void columns(Index block, Index first) const {
    const ByteSteps steps(largest[block]);
    const Index at = blocks.first(block) + first, rest = blocks.size(block) - first;
    const std::int8_t* from = kept + at;
    float* to = values + at;
    if (rest >= count) {
#pragma omp simd
      for (Index c = 0; c < count; ++c) to[c] = steps.expand(from[c]);
    } else {
      for (Index c = 0; c < rest; ++c) to[c] = steps.expand(from[c]);
    }
  }
};

}  // namespace onebit::compress
