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

/// Transposes, in each of the 8 bytes of 8 words, the 8 x 8 matrix of bits [word][bit].
inline void transpose_bits(std::array<std::uint64_t, 8>& words) {
  constexpr std::array<std::uint64_t, 3> masks = {0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F};
  for (unsigned level = 0; level < 3; ++level) {
    const unsigned step = 1u << level;
    for (unsigned pair = 0; pair < 4; ++pair) {
      const unsigned low = (pair & (step - 1)) | ((pair & ~(step - 1)) << 1);
      std::uint64_t& a = words[low];
      std::uint64_t& b = words[low + step];
      const std::uint64_t swapped = ((a >> step) ^ b) & masks[level];
      b ^= swapped;
      a ^= swapped << step;
    }
  }
}

/// sums[byte] = the sum of weight or -weight over up to 8 rows, in row order; bit r of the byte is row r's sign.
struct SignTable {
  void fill(const float* scales, Index scale_stride, Index rows, double all_rows) {
    sums[0] = 0;
    std::size_t size = 1;
    for (Index row = 0; row < rows; ++row, size *= 2) {
      const double weight = static_cast<double>(scales[row * scale_stride]) / all_rows;
      for (std::size_t i = 0; i < size; ++i) {
        const double before = sums[i];
        sums[size + i] = before + weight;
        sums[i] = before - weight;
      }
    }
  }
  alignas(64) std::array<double, 1 << kSignBlock> sums;
};

/// The bits of 64 elements of up to 8 rows, transposed: byte [8 * j + k] holds the rows' bits of element 8 k + 7 - j.
class SignColumns {
 public:
  void load(const std::uint8_t* bits, Index row_bytes, Index rows, Index available) {
    const auto bytes = static_cast<std::size_t>(std::min<Index>(available, 8));
    words_.fill(0);
    for (Index row = 0; row < rows; ++row) {
      std::memcpy(&words_[static_cast<std::size_t>(row)], bits + row * row_bytes, bytes);
    }
    transpose_bits(words_);
  }
  const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(words_.data()); }

 private:
  alignas(64) std::array<std::uint64_t, 8> words_;
};

/// The means over a chunk's elements [0, n); sums has room for a multiple of 64.
inline void mean_signs(const ScaledSignRows& rows, const std::uint8_t* bits, const float* scales, Index n,
                       double* means) {
  const Index row_bytes = rows.signs.row_bytes;
  const Index bytes = ceil_div(n, 8);
  for (Index row = 0; row < rows.signs.rows; row += 2 * kSignBlock) {
    std::array<SignTable, 2> tables;
    std::array<SignColumns, 2> columns;
    std::array<Index, 2> counts;
    for (std::size_t t = 0; t < 2; ++t) {
      const Index first = row + static_cast<Index>(t) * kSignBlock;
      counts[t] = std::clamp<Index>(rows.signs.rows - first, 0, kSignBlock);
      tables[t].fill(scales + first * rows.scale_count, rows.scale_count, counts[t],
                     static_cast<double>(rows.signs.rows));
    }
    for (Index byte = 0; byte < bytes; byte += 8) {
      for (std::size_t t = 0; t < 2; ++t) {
        const std::uint8_t* block = bits + (row + static_cast<Index>(t) * kSignBlock) * row_bytes + byte;
        columns[t].load(block, row_bytes, counts[t], bytes - byte);
      }
      const std::uint8_t *low = columns[0].bytes(), *high = columns[1].bytes();
      double* out = means + 8 * byte;
      for (std::size_t k = 0; k < 8; ++k) {
        for (std::size_t j = 0; j < 8; ++j) {
          const double pair = tables[0].sums[low[8 * (7 - j) + k]] + tables[1].sums[high[8 * (7 - j) + k]];
          out[8 * k + j] = row == 0 ? pair : out[8 * k + j] + pair;
        }
      }
    }
  }
}

/// Calls element(i, weight or -weight) for i in [begin, end), begin a multiple of 8.
template <class Element>
void decode_run(Index begin, Index end, const std::uint8_t* bytes, double weight, const Element& element) {
  Index i = begin;
  for (; i + 32 <= end; i += 32, bytes += 4) {
    std::uint32_t word;
    std::memcpy(&word, bytes, 4);
#pragma omp simd
    for (Index l = 0; l < 32; ++l) {
      element(i + l, ((word >> kWordBit[static_cast<std::size_t>(l)]) & 1u) != 0 ? weight : -weight);
    }
  }
  for (Index l = 0; i < end; ++i, ++l) element(i, static_cast<double>(sign_at(bytes, l)) * weight);
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

namespace detail {

/// A chunk of rows of signs: calls run(chunk, signs, scales) with what locates it.
template <class Run>
void for_each_sign_chunk(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Run run) {
  queue.check(rows);
  parallel(queue, chunks.count, [&](Index unit) {
    const Chunk chunk = chunks[unit];
    run(unit, chunk, rows.signs.bits + rows.signs.byte_offset[chunk.segment] + chunk.begin / 8,
        rows.scales + chunk.segment / rows.segments_per_scale);
  });
}

}  // namespace detail

template <class Kernel>
void for_each_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel) {
  queue.check(kernel);
  detail::for_each_sign_chunk(
      queue, chunks, rows, [&](Index, const Chunk& chunk, const std::uint8_t* bits, const float* scales) {
        const auto element = kernel.bind(chunk.segment);
        if (rows.signs.rows == 1) {
          detail::decode_run(chunk.begin, chunk.end, bits, static_cast<double>(*scales), element);
          return;
        }
        alignas(64) std::array<double, kChunk> means;
        detail::mean_signs(rows, bits, scales, chunk.end - chunk.begin, means.data());
#pragma omp simd
        for (Index i = chunk.begin; i < chunk.end; ++i) element(i, means[static_cast<std::size_t>(i - chunk.begin)]);
      });
}

template <class Kernel>
void reduce_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel,
                      double* sums) {
  queue.check(kernel);
  std::vector<double> partial(static_cast<std::size_t>(chunks.count));
  detail::for_each_sign_chunk(
      queue, chunks, rows, [&](Index unit, const Chunk& chunk, const std::uint8_t* bits, const float* scales) {
        const auto element = kernel.bind(chunk.segment);
        alignas(64) std::array<double, kChunk> means;
        detail::mean_signs(rows, bits, scales, chunk.end - chunk.begin, means.data());
        partial[static_cast<std::size_t>(unit)] = detail::lane_sum(chunk.begin, chunk.end, [&](Index i) {
          return element(i, means[static_cast<std::size_t>(i - chunk.begin)]);
        });
      });
  detail::sum_chunks(queue, 1, chunks, partial.data(), sums);
}

}  // namespace onebit::device::cpu
