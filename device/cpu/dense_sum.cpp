#include "device/cpu/dense_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "device/cpu/launch.hpp"
#include "device/dense_sum.hpp"

namespace onebit::device::cpu {
namespace {

constexpr Index kTile = 512;
constexpr Index kMaxLevels = 40;

/// The levels of one tile of columns.
struct Tile {
  double* levels;
  Index stride;
  Index width;
  double* level(Index l) const { return levels + l * stride; }
};

void add_row(const Tile& tile, const float* row, bool opens_block) {
  double* block = tile.level(0);
  if (opens_block) {
#pragma omp simd
    for (Index c = 0; c < tile.width; ++c) block[c] = static_cast<double>(row[c]);
  } else {
#pragma omp simd
    for (Index c = 0; c < tile.width; ++c) block[c] += static_cast<double>(row[c]);
  }
}

void add_level(const Tile& tile, Index from, Index to) {
  const double* source = tile.level(from);
  double* target = tile.level(to);
#pragma omp simd
  for (Index c = 0; c < tile.width; ++c) target[c] = target[c] + source[c];
}

/// Carries the finished block with index `block` up the binary counter; returns the level at which it comes to rest.
void close_block(const Tile& tile, Index block) {
  Index level = 1;
  for (; (block & 1) != 0; block >>= 1, ++level) {
    add_level(tile, 0, level);  // earlier + later, kept in level 0 for the next carry
    std::copy_n(tile.level(level), tile.width, tile.level(0));
  }
  std::copy_n(tile.level(0), tile.width, tile.level(level));
}

/// Combines what the counter holds, smallest first.
void finish(const Tile& tile, Index blocks, double* total) {
  const Index lowest = std::countr_zero(static_cast<std::uint64_t>(blocks));
  std::copy_n(tile.level(lowest + 1), tile.width, total);
  for (Index bit = lowest + 1; (blocks >> bit) != 0; ++bit) {
    if (((blocks >> bit) & 1) == 0) continue;
    const double* source = tile.level(bit + 1);
#pragma omp simd
    for (Index c = 0; c < tile.width; ++c) total[c] = source[c] + total[c];
  }
}

void absorb_tile(const DenseSumState& state, const Tile& tile, Index first, Index count, const float* rows,
                 Index stride, double* total) {
  for (Index r = 0; r < count; ++r) {
    const Index worker = first + r;
    add_row(tile, rows + r * stride, worker % DenseSum::kBlock == 0);
    const bool last = worker == state.workers - 1;
    if (last || worker % DenseSum::kBlock == DenseSum::kBlock - 1) close_block(tile, worker / DenseSum::kBlock);
    if (last) finish(tile, ceil_div(state.workers, DenseSum::kBlock), total);
  }
}

}  // namespace

Index dense_sum_levels(Index workers) {
  return 1 + static_cast<Index>(std::bit_width(static_cast<std::uint64_t>(ceil_div(workers, DenseSum::kBlock))));
}

void dense_sum_absorb(const Queue& queue, const DenseSumState& state, Index first, Index count, const float* rows,
                      Index stride) {
  parallel(queue, ceil_div(state.columns, kTile), [&](Index unit) {
    alignas(64) std::array<double, kMaxLevels * kTile> scratch;
    const Index begin = unit * kTile;
    const Index width = std::min(kTile, state.columns - begin);
    const Tile tile =
        state.levels != nullptr ? Tile{state.levels + begin, state.columns, width} : Tile{scratch.data(), kTile, width};
    absorb_tile(state, tile, first, count, rows + begin, stride, state.total + begin);
  });
}

}  // namespace onebit::device::cpu
