#pragma once
// The innermost products of a convolution: tiles of sums that stay in registers.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "device/cpu/packet.hpp"

namespace onebit::device::cpu {

inline constexpr Index kTilePackets = kRegisters / 2;  ///< packets of sums; the other registers hold operands
inline constexpr Index kDepth = kTilePackets / 4;      ///< terms of a sum that are added at a time

template <std::size_t N>
using Constant = std::integral_constant<std::size_t, N>;

/// Calls work(Constant<rows>), where `rows` is from 1 to Most, so that the compiler knows the size of a tile.
template <std::size_t Most, class Work>
void with_rows(Index rows, const Work& work) {
  if constexpr (Most > 1) {
    if (rows < static_cast<Index>(Most)) return with_rows<Most - 1>(rows, work);
  }
  work(Constant<Most>{});
}

/// Rows x Packets of sums. They stay in registers as long as every loop over them is unrolled within one function.
template <std::size_t Rows, std::size_t Packets>
using Sums = Packet[Rows][Packets];

/// sums[r] += sum over d < Depth of left[r][d] * right[d], where each right[d] has Packets packets.
template <std::size_t Depth, std::size_t Rows, std::size_t Packets>
[[gnu::always_inline]] inline void add_products(const float* const (&left)[Rows], Index offset, const float* right,
                                                Sums<Rows, Packets>& sums) {
  Packet factors[Depth][Packets];
#pragma GCC unroll 4
  for (std::size_t d = 0; d < Depth; ++d) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Packets; ++v, right += kLanes) factors[d][v] = Eigen::internal::ploadu<Packet>(right);
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (std::size_t d = 0; d < Depth; ++d) {
      const Packet factor = Eigen::internal::pset1<Packet>((left[r] + offset)[d]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Packets; ++v) sums[r][v] = Eigen::internal::pmadd(factor, factors[d][v], sums[r][v]);
    }
  }
}

/// Writes the sums row after row.
template <std::size_t Rows, std::size_t Packets>
[[gnu::always_inline]] inline void store(const Sums<Rows, Packets>& sums, float* to) {
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Packets; ++v, to += kLanes) Eigen::internal::pstoreu(to, sums[r][v]);
  }
}

/// Which pixel each tap of each pixel in a tile reads.
struct Taps {
  /// reads[tap * pixels + p] is the index of the pixel that is read by this tap of pixel p; it is negative if the tap
  /// falls on padding.
  const std::int32_t* reads = nullptr;
  Index pixels = 0;
  Index taps = 0;
  Index channels = 0;            ///< number of channels of a pixel that is read
  const float* zeros = nullptr;  ///< [channels]: zeros, which are read for padding

  const float* pixel(const float* image, Index tap, Index p) const {
    const Index read = reads[tap * pixels + p];
    return read < 0 ? zeros : image + read * channels;
  }
  /// Whether the tap reads the image, rather than padding, for at least one of the first `count` pixels.
  bool any(Index tap, Index count) const {
    return std::any_of(reads + tap * pixels, reads + tap * pixels + count, [](std::int32_t read) { return read >= 0; });
  }
};

/// Computes the products of Rows pixels and a panel, summed over all taps and channels. The panel begins with the sums'
/// initial values.
template <std::size_t Rows, std::size_t Packets>
void sum_taps(const Taps& taps, const float* image, const float* panel, float* result) {
  constexpr Index width = static_cast<Index>(Packets) * kLanes;
  Sums<Rows, Packets> sums;
  for (std::size_t r = 0; r < Rows; ++r) {
    for (std::size_t v = 0; v < Packets; ++v) sums[r][v] = Eigen::internal::ploadu<Packet>(panel + v * kLanes);
  }
  panel += width;
  for (Index tap = 0; tap < taps.taps; ++tap, panel += taps.channels * width) {
    if (!taps.any(tap, Rows)) continue;
    const float* from[Rows];
    for (std::size_t r = 0; r < Rows; ++r) from[r] = taps.pixel(image, tap, static_cast<Index>(r));
    Index c = 0;
    for (; c + kDepth <= taps.channels; c += kDepth) {
      add_products<kDepth, Rows, Packets>(from, c, panel + c * width, sums);
    }
    for (; c < taps.channels; ++c) add_products<1, Rows, Packets>(from, c, panel + c * width, sums);
  }
  store<Rows, Packets>(sums, result);
}

/// Some pixels of some images, and the gradient with respect to the outputs computed for these pixels.
struct PixelPart {
  Range images, pixels;
  /// Image 0, starting at the first channel. An image has `inputs` numbers.
  const float* input = nullptr;
  /// Gradient of image 0, starting at the first column. An image has `outputs` numbers, and a pixel has `stride`
  /// numbers.
  const float* delta = nullptr;
  Index inputs = 0, outputs = 0, stride = 0;
  Index columns = 0;  ///< columns of delta; a tile's columns beyond them are zero
};

/// For each of Rows channels, multiplies the number that the tap reads by the packets of delta, and sums these products
/// over the part's pixels.
template <std::size_t Rows, std::size_t Packets>
void sum_pixels(const Taps& taps, Index tap, const PixelPart& part, float* result) {
  constexpr Index width = static_cast<Index>(Packets) * kLanes;
  float padded[static_cast<std::size_t>(width)] = {};
  Sums<Rows, Packets> sums = {};
  for (Index image = part.images.first; image < part.images.end(); ++image) {
    for (Index p = part.pixels.first; p < part.pixels.end(); ++p) {
      const float* row = part.delta + image * part.outputs + p * part.stride;
      if (part.columns < width) row = std::copy_n(row, part.columns, padded) - part.columns;
      const float* from[Rows];
      from[0] = taps.pixel(part.input + image * part.inputs, tap, p);
      for (std::size_t r = 1; r < Rows; ++r) from[r] = from[0] + r;
      add_products<1, Rows, Packets>(from, 0, row, sums);
    }
  }
  store<Rows, Packets>(sums, result);
}

}  // namespace onebit::device::cpu
