#pragma once
// CPU launchers that write and sum packed signs. device/launch/launch.hpp describes each of them.

#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "device/cpu/launch.hpp"
#include "device/math/sign_bits.hpp"

namespace onebit::device::cpu {

namespace detail {

static_assert(std::endian::native == std::endian::little, "words of packed signs are stored byte by byte");

/// The bit in a little-endian 32-bit word at which each of 32 elements is packed (MSB first in each byte).
inline constexpr auto kWordBit = [] {
  std::array<std::uint32_t, 32> bit{};
  for (std::uint32_t l = 0; l < 32; ++l) bit[l] = 8 * (l / 8) + 7 - l % 8;
  return bit;
}();

/// Packs predicate(i) for i in [begin, end), where begin is a multiple of 8. The unused bits of the last byte become 1.
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

/// Number of elements whose signs are summed at a time. Their signs occupy 64 bytes of each row.
inline constexpr Index kSignRun = 512;

/// The bits of kSignRun elements of kSignBlock rows: loaded with byte q of row r at bytes[64 r + q], then transposed,
/// so that bit r of bytes[64 j + q] is row r's sign of element 8 q + 7 - j.
class SignColumns {
 public:
  void load(const std::uint8_t* bits, Index row_bytes, Index rows, Index available) {
    for (Index row = 0; row < kSignBlock; ++row) {
      auto& words = words_[static_cast<std::size_t>(row)];
      const std::uint8_t* bytes = bits + row * row_bytes;
      if (row >= rows) {
        words.fill(0);
      } else if (available >= 64) {
        std::memcpy(words.data(), bytes, 64);
        __builtin_prefetch(bytes + 64);
      } else {
        std::memcpy(words.data(), bytes, static_cast<std::size_t>(available));
      }
    }
    swap_bits<1>(0x5555555555555555);
    swap_bits<2>(0x3333333333333333);
    swap_bits<4>(0x0F0F0F0F0F0F0F0F);
  }
  const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(words_.data()); }

 private:
  /// One level of the transposition of 8 x 8 bits: swaps the blocks of `step` bits off the diagonal.
  template <unsigned step>
  void swap_bits(std::uint64_t mask) {
    for (unsigned pair = 0; pair < 4; ++pair) {
      const unsigned low = (pair & (step - 1)) | ((pair & ~(step - 1)) << 1);
#pragma omp simd
      for (unsigned lane = 0; lane < 8; ++lane) {
        const std::uint64_t a = words_[low][lane], b = words_[low + step][lane];
        const std::uint64_t swapped = ((a >> step) ^ b) & mask;
        words_[low + step][lane] = b ^ swapped;
        words_[low][lane] = a ^ (swapped << step);
      }
    }
  }

  alignas(64) std::array<std::array<std::uint64_t, 8>, kSignBlock> words_;
};

/// sums[byte] is the sum of the weights of up to 8 rows, added in row order, where bit r of the byte gives the sign of
/// row r's weight.
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

/// The tables for one segment, one for each block of rows. The number of tables is even; the last one may stand for a
/// block without rows.
class SignTables {
 public:
  SignTables(const ScaledSignRows& rows, const float* scales)
      : count_(round_up(ceil_div(rows.signs.rows, kSignBlock), 2)), tables_(new SignTable[size()]) {
    for (Index block = 0; block < count_; ++block) {
      const Index first = block * kSignBlock;
      tables_[static_cast<std::size_t>(block)].fill(scales + first * rows.scale_count, rows.scale_count,
                                                    std::clamp<Index>(rows.signs.rows - first, 0, kSignBlock),
                                                    static_cast<double>(rows.signs.rows));
    }
  }
  Index count() const { return count_; }
  const SignTable& operator[](Index block) const { return tables_[static_cast<std::size_t>(block)]; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(count_); }
  Index count_;
  std::unique_ptr<SignTable[]> tables_;  // an array, because a vector would first be filled with zeros
};

/// Computes the sums of a pair of blocks for 8 * bytes elements. If `first`, stores them in means and calls ahead(i)
/// every 16 elements; otherwise adds them to means.
template <bool first, class Ahead>
void add_pair(const SignTable& low, const SignTable& high, const SignColumns& low_columns,
              const SignColumns& high_columns, std::size_t bytes, double* means, const Ahead& ahead) {
  const std::uint8_t *a = low_columns.bytes(), *b = high_columns.bytes();
  for (std::size_t q = 0; q < bytes; ++q) {
    if (first && q % 2 == 0) ahead(static_cast<Index>(8 * q));
    for (std::size_t j = 0; j < 8; ++j) {
      const double pair = low.sums[a[64 * (7 - j) + q]] + high.sums[b[64 * (7 - j) + q]];
      means[8 * q + j] = first ? pair : means[8 * q + j] + pair;
    }
  }
}

/// Prefetches each element 16 elements ahead of its use, because the table look-ups keep the processor from reading
/// ahead.
template <class Element>
void prefetch(const Element& element, Index i) {
  if constexpr (requires { element.prefetch(i); }) element.prefetch(i);
}

/// Calls visit(first, count, means) for runs of at most kSignRun of a chunk's n elements. `bits` points to the chunk's
/// signs in the first row. Before a run is visited, calls ahead(i) for every 16th of its elements.
template <class Ahead, class Visit>
void for_each_mean(const ScaledSignRows& rows, const std::uint8_t* bits, const float* scales, Index n,
                   const Ahead& ahead, Visit visit) {
  const SignTables tables(rows, scales);
  const Index row_bytes = rows.signs.row_bytes;
  alignas(64) std::array<double, kSignRun> means;
  std::array<SignColumns, 2> columns;
  for (Index first = 0; first < n; first += kSignRun) {
    const Index count = std::min(kSignRun, n - first);
    const Index bytes = ceil_div(count, 8);
    for (Index block = 0; block < tables.count(); block += 2) {
      for (Index half = 0; half < 2; ++half) {
        const Index row = (block + half) * kSignBlock;
        columns[static_cast<std::size_t>(half)].load(bits + row * row_bytes + first / 8, row_bytes,
                                                     std::clamp<Index>(rows.signs.rows - row, 0, kSignBlock), bytes);
      }
      const auto ahead_of_run = [&](Index i) { ahead(first + i); };
      const auto add = block == 0 ? add_pair<true, decltype(ahead_of_run)> : add_pair<false, decltype(ahead_of_run)>;
      add(tables[block], tables[block + 1], columns[0], columns[1], static_cast<std::size_t>(bytes), means.data(),
          ahead_of_run);
    }
    visit(first, count, means.data());
  }
}

/// Calls element(i, weight or -weight) for i in [begin, end), where begin is a multiple of 8.
template <class Number, class Element>
void decode_run(Index begin, Index end, const std::uint8_t* bytes, Number weight, const Element& element) {
  Index i = begin;
  for (; i + 32 <= end; i += 32, bytes += 4) {
    std::uint32_t word;
    std::memcpy(&word, bytes, 4);
#pragma omp simd
    for (Index l = 0; l < 32; ++l) {
      element(i + l, ((word >> kWordBit[static_cast<std::size_t>(l)]) & 1u) != 0 ? weight : -weight);
    }
  }
  for (Index l = 0; i < end; ++i, ++l) element(i, sign_at(bytes, l) > 0 ? weight : -weight);
}

/// Decodes packed signs to an array of numbers, a run at a time, so that loops over the numbers vectorise.
class SignRun {
 public:
  /// Returns the numbers of elements [first, first + count) of a segment. count is at most kSignRun.
  const float* decode(const SignVector& signs, const SignPlace& place, Index first, Index count) {
    const Index begin = place.first + first, end = begin + count;
    const Index whole = begin / 8 * 8;  // starts at the first sign of a byte
    const auto write = [numbers = numbers_.data(), whole](Index i, float number) { numbers[i - whole] = number; };
    for (Index i = whole; i < end;) {
      const Index run = i / place.per_scale;
      const Index stop = std::min(end, (run + 1) * place.per_scale);
      decode_run(i, stop, signs.bits + place.byte + i / 8, signs.scales[place.scale + run], write);
      i = stop;
    }
    return numbers_.data() + (begin - whole);
  }

 private:
  alignas(64) std::array<float, static_cast<std::size_t>(kSignRun + 8)> numbers_;
};

}  // namespace detail

namespace detail {

template <class Kernel>
void pack_chunk(const SignRows& out, Index row, const Chunk& chunk, const Kernel& kernel) {
  std::uint8_t* bytes = out.bits + row * out.row_bytes + out.byte_offset[chunk.segment] + chunk.begin / 8;
  pack_run(chunk.begin, chunk.end, bytes, at(kernel, row, chunk.segment));
}

}  // namespace detail

template <class Kernel>
void pack_bits(const Queue& queue, const ChunkView& chunks, const SignRows& out, Kernel kernel) {
  queue.check(kernel);
  queue.check(out);
  queue.check(chunks);
  parallel(queue, out.rows * chunks.count,
           [&](Index unit) { detail::pack_chunk(out, unit / chunks.count, chunks[unit % chunks.count], kernel); });
}

namespace detail {

/// Makes both passes over one segment of a row. The second pass runs backwards, to begin with the data that the first
/// one left in the caches.
template <class Kernel>
void reduce_and_pack_segment(const ChunkView& chunks, const Kernel& kernel, const SignRows& out, Index row,
                             Index segment, double* partial, double* sums) {
  const Index first = chunks.first(segment), end = chunks.first(segment + 1);
  for (Index c = first; c < end; ++c) partial[c] = sum_chunk(kernel.sum, row, chunks[c]);
  const Index i = row * chunks.segments + segment;
  sums[i] = tree_sum(partial + first, end - first);
  kernel.scale(i);
  for (Index c = end; c-- > first;) pack_chunk(out, row, chunks[c], kernel.bit);
}

}  // namespace detail

template <class Kernel>
void reduce_and_pack(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums,
                     const SignRows& out) {
  if (!fills(queue, rows)) {
    reduce(queue, rows, chunks, kernel.sum, sums);
    for_each(queue, rows * chunks.segments, kernel.scale);
    pack_bits(queue, chunks, out, kernel.bit);
    return;
  }
  queue.check(kernel);
  queue.check(chunks);
  queue.check(sums);
  queue.check(out);
  double* const partial = queue.workspace(rows * chunks.count);
  parallel(queue, rows, [&](Index row) {
    for (Index segment = 0; segment < chunks.segments; ++segment) {
      detail::reduce_and_pack_segment(chunks, kernel, out, row, segment, partial + row * chunks.count, sums);
    }
  });
}

namespace detail {

/// Calls run(chunk index, chunk, signs, scales) for every chunk of rows of signs. `signs` points to the chunk's signs
/// in the first row, and `scales` to the first row's scale for the segment that contains the chunk.
template <class Run>
void for_each_sign_chunk(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Run run) {
  queue.check(rows);
  queue.check(chunks);
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
        const auto ahead = [&](Index i) { detail::prefetch(element, chunk.begin + i); };
        const auto visit = [&](Index first, Index count, const double* means) {
#pragma omp simd
          for (Index i = 0; i < count; ++i) element(chunk.begin + first + i, means[i]);
        };
        detail::for_each_mean(rows, bits, scales, chunk.end - chunk.begin, ahead, visit);
      });
}

template <class Kernel>
void reduce_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel,
                      double* sums) {
  queue.check(kernel);
  queue.check(sums);
  double* const partial = queue.workspace(chunks.count);
  detail::for_each_sign_chunk(queue, chunks, rows,
                              [&](Index unit, const Chunk& chunk, const std::uint8_t* bits, const float* scales) {
                                const auto element = kernel.bind(chunk.segment);
                                detail::LaneSum sum;
                                const auto ahead = [&](Index i) { detail::prefetch(element, chunk.begin + i); };
                                const auto visit = [&](Index first, Index count, const double* means) {
                                  sum.add(count, [&](Index i) { return element(chunk.begin + first + i, means[i]); });
                                };
                                detail::for_each_mean(rows, bits, scales, chunk.end - chunk.begin, ahead, visit);
                                partial[unit] = sum.total();
                              });
  detail::sum_chunks(queue, 1, chunks, partial, sums);
}

template <class Kernel>
void reduce_signs(const Queue& queue, const ChunkView& chunks, const SignVector& signs, Kernel kernel, double* sums) {
  queue.check(kernel);
  queue.check(signs);
  queue.check(chunks);
  queue.check(sums);
  double* const partial = queue.workspace(chunks.count);
  parallel(queue, chunks.count, [&](Index unit) {
    const Chunk chunk = chunks[unit];
    const auto element = kernel.bind(0, chunk.segment);
    detail::LaneSum sum;
    detail::SignRun run;
    for (Index first = chunk.begin; first < chunk.end; first += detail::kSignRun) {
      const Index count = std::min(detail::kSignRun, chunk.end - first);
      const float* numbers = run.decode(signs, signs.places[chunk.segment], first, count);
      sum.add(count, [&](Index i) { return element(first + i, numbers[i]); });
    }
    partial[unit] = sum.total();
  });
  detail::sum_chunks(queue, 1, chunks, partial, sums);
}

}  // namespace onebit::device::cpu
