#pragma once
// CPU launchers that write and sum packed signs. What each does is said in device/launch.hpp.

#include <array>
#include <bit>
#include <cstring>

#include "device/cpu/launch.hpp"
#include "device/sign_bits.hpp"

namespace onebit::device::cpu {

namespace detail {

static_assert(std::endian::native == std::endian::little, "words of packed signs are stored byte by byte");

/// Bit of a little-endian 32-bit word that holds element l of the 32 elements packed in it, MSB first in each byte.
inline constexpr auto kWordBit = [] {
  std::array<std::uint32_t, 32> bit{};
  for (std::uint32_t l = 0; l < 32; ++l) bit[l] = 8 * (l / 8) + 7 - l % 8;
  return bit;
}();

/// Packs predicate(i) for i in [begin, end), begin a multiple of 8; the unused bits of the last byte become 1.
template <class Predicate>
void pack_run(Index begin, Index end, std::uint8_t* bytes, Predicate predicate) {
  Index i = begin;
  for (; i + 32 <= end; i += 32, bytes += 4) {
    std::uint32_t word = 0;
#pragma omp simd reduction(| : word)
    for (Index l = 0; l < 32; ++l) {
      word |= static_cast<std::uint32_t>(predicate(i + l)) << kWordBit[static_cast<std::size_t>(l)];
    }
    std::memcpy(bytes, &word, 4);
  }
  for (; i < end; i += 8, ++bytes) {
    unsigned byte = 0;
    for (Index j = 0; j < 8; ++j) byte = 2 * byte + ((i + j >= end || predicate(i + j)) ? 1u : 0u);
    *bytes = static_cast<std::uint8_t>(byte);
  }
}

/// sums[i] += weight or -weight by the sign of element i, for i in [0, n).
inline void add_signed(const std::uint8_t* bytes, Index n, double weight, double* sums) {
  Index i = 0;
  for (; i + 32 <= n; i += 32, bytes += 4) {
    std::uint32_t word;
    std::memcpy(&word, bytes, 4);
#pragma omp simd
    for (Index l = 0; l < 32; ++l) {
      sums[i + l] += ((word >> kWordBit[static_cast<std::size_t>(l)]) & 1u) != 0 ? weight : -weight;
    }
  }
  for (Index l = 0; i < n; ++i, ++l) sums[i] += static_cast<double>(sign_at(bytes, l)) * weight;
}

}  // namespace detail

template <class Kernel>
void pack_bits(const Queue& queue, const ChunkView& chunks, const SignRows& out, Kernel kernel) {
  queue.check(kernel);
  queue.check(out);
  parallel(queue, out.rows * chunks.count, [&](Index unit) {
    const Index row = unit / chunks.count;
    const Chunk chunk = chunks[unit % chunks.count];
    std::uint8_t* bytes = out.bits + row * out.row_bytes + out.byte_offset[chunk.segment] + chunk.begin / 8;
    detail::pack_run(chunk.begin, chunk.end, bytes, at(kernel, row, chunk.segment));
  });
}

template <class Kernel>
void for_each_sign_mean(const Queue& queue, const ChunkView& chunks, const SignRows& rows, const float* scales,
                        Kernel kernel) {
  queue.check(kernel);
  queue.check(rows);
  parallel(queue, chunks.count, [&](Index unit) {
    const Chunk chunk = chunks[unit];
    alignas(64) std::array<double, kChunk> sums{};
    for (Index row = 0; row < rows.rows; ++row) {
      detail::add_signed(rows.bits + row * rows.row_bytes + rows.byte_offset[chunk.segment] + chunk.begin / 8,
                         chunk.end - chunk.begin, static_cast<double>(scales[row * chunks.segments + chunk.segment]),
                         sums.data());
    }
    const auto n = static_cast<double>(rows.rows);
    const auto element = kernel.bind(chunk.segment);
#pragma omp simd
    for (Index i = chunk.begin; i < chunk.end; ++i) element(i, sums[static_cast<std::size_t>(i - chunk.begin)] / n);
  });
}

}  // namespace onebit::device::cpu
