#pragma once
// Matrix products whose operands are looked up as they are read. A block computes a tile of results. It processes their
// terms a chunk at a time, and fetches the next chunk while it multiplies the current one. Every result is one chain of
// fused multiply-adds in the order of its terms, so that its bits depend on the terms alone.

#include <cmath>
#include <cstdint>

#include "device/cuda/launch.cuh"

namespace onebit::device::cuda::detail {

inline constexpr int kChunk = 16;  ///< terms in a chunk

/// Four consecutive numbers, which are read and written together.
struct alignas(16) Quad {
  float number[4] = {};
};

/// Returns the four numbers that start at an aligned address.
inline __device__ Quad quad_at(const float* number) {
  return *reinterpret_cast<const Quad*>(number);
}

/// The shape of a tile of results. A thread computes 8 rows of one or two quads of columns.
template <int rows, int columns, int own_columns>
struct Tile {
  static constexpr int kRows = rows, kColumns = columns;
  static constexpr int kOwnRows = 8, kOwnColumns = own_columns;
  static constexpr int kAcross = kColumns / kOwnColumns;  ///< threads along the columns
  static constexpr int kThreads = kAcross * (kRows / kOwnRows);
  /// Pitch of a row of a chunk's right side, chosen to avoid bank conflicts.
  static constexpr int kPitch = kColumns + 4;
  static constexpr int kBlocks = 256 / kThreads;  ///< blocks that a multiprocessor should be able to run at once
  static_assert(kThreads % 32 == 0 && kThreads % kColumns == 0 && kThreads % kChunk == 0 && kRows % 64 == 0);

  /// A chunk, term after term. Left: rows are permuted so that threads which write several terms of neighbouring rows,
  /// or read neighbouring rows of one term, do so in different banks.
  struct Terms {
    alignas(16) float left[kChunk * kRows];
    alignas(16) float right[kChunk * kPitch];

    static __device__ int left_at(int term, int row) { return term * kRows + (row ^ (term / 4 * 8)); }
    static __device__ int right_at(int term, int column) { return term * kPitch + column; }
  };

  /// Returns the row of the tile at which this thread's row i lies. The quads of a thread are as far apart as possible.
  static __device__ int row(int i) { return i / 4 * (kRows / 2) + static_cast<int>(threadIdx.x) / kAcross * 4 + i % 4; }
  /// Returns the column of the tile at which this thread's column j lies.
  static __device__ int column(int j) {
    return j / 4 * (kColumns / 2) + static_cast<int>(threadIdx.x) % kAcross * 4 + j % 4;
  }

  using Sums = float[kOwnRows][kOwnColumns];

  static __device__ void multiply(const Terms& terms, Sums& sums) {
#pragma unroll 4
    for (int term = 0; term < kChunk; ++term) {
      Quad left[kOwnRows / 4], right[kOwnColumns / 4];
#pragma unroll
      for (int i = 0; i < kOwnRows / 4; ++i) left[i] = quad_at(terms.left + Terms::left_at(term, row(4 * i)));
#pragma unroll
      for (int j = 0; j < kOwnColumns / 4; ++j) right[j] = quad_at(terms.right + Terms::right_at(term, column(4 * j)));
#pragma unroll
      for (int i = 0; i < kOwnRows; ++i) {
#pragma unroll
        for (int j = 0; j < kOwnColumns; ++j) {
          sums[i][j] = fmaf(left[i / 4].number[i % 4], right[j / 4].number[j % 4], sums[i][j]);
        }
      }
    }
  }
};

/// A tile's place: its first row and column in product number `set`.
struct TilePlace {
  Index set = 0;
  Index row = 0, column = 0;
};

/// The tiles of several products of the same size. Tiles next to each other share rows.
struct TileGrid {
  Index sets = 0;
  Index down = 0, across = 0;  ///< number of tiles down the rows and across the columns of a set

  template <class Tile>
  static TileGrid of(Index sets, Index rows, Index columns) {
    return {sets, ceil_div(rows, Index{Tile::kRows}), ceil_div(columns, Index{Tile::kColumns})};
  }
  ONEBIT_HOST_DEVICE Index count() const { return sets * down * across; }
  template <class Tile>
  __device__ TilePlace place(Index tile) const {
    const Index strip = tile / across, set = strip / down;
    return {set, (strip - set * down) * Tile::kRows, (tile - strip * across) * Tile::kColumns};
  }
};

/// Computes the tiles of a problem. Problem must offer
///   Tile                                   the type of its tiles,
///   left(place), right(place)              the readers of a thread's share of each side, with
///     Share, fetch(Share&)                   loads the next chunk into registers; the left side's fetch returns
///                                            whether any of the chunk is not zero,
///     put(const Share&, Terms&)              copies it from the registers to where the block reads it,
///   chunks(place)                          the number of chunks,
///   begin(place, sums), end(place, sums)   initialise the sums, and write the results.
/// Chunks whose left side is zero are skipped.
template <class Problem>
__global__ void __launch_bounds__(Problem::Tile::kThreads, Problem::Tile::kBlocks)
    multiply_tiles(const TileGrid grid, const __grid_constant__ Problem problem) {
  using Tile = typename Problem::Tile;
  __shared__ typename Tile::Terms terms[2];
  for (Index tile = blockIdx.x; tile < grid.count(); tile += gridDim.x) {
    const TilePlace place = grid.place<Tile>(tile);
    auto left = problem.left(place);
    auto right = problem.right(place);
    typename decltype(left)::Share left_share;
    typename decltype(right)::Share right_share;
    typename Tile::Sums sums;
    problem.begin(place, sums);
    const auto fetch = [&] {
      right.fetch(right_share);
      return left.fetch(left_share);
    };
    const auto put = [&](typename Tile::Terms& to) {
      left.put(left_share, to);
      right.put(right_share, to);
    };
    bool own = fetch();
    put(terms[0]);
    bool any = __syncthreads_or(own) != 0;
    const Index chunks = problem.chunks(place);
    for (Index chunk = 0; chunk < chunks; ++chunk) {
      const bool more = chunk + 1 < chunks;
      if (more) own = fetch();
      if (any) Tile::multiply(terms[chunk % 2], sums);
      if (more) put(terms[(chunk + 1) % 2]);
      any = __syncthreads_or(own) != 0;
    }
    problem.end(place, sums);
  }
}

template <class Problem>
void multiply(const Queue& queue, const TileGrid& grid, const Problem& problem) {
  constexpr Index most_blocks = Index{1} << 30;
  if (grid.count() == 0) return;
  launch(queue, static_cast<unsigned>(std::min(grid.count(), most_blocks)), Problem::Tile::kThreads, typeid(Problem),
         multiply_tiles<Problem>, grid, problem);
}

}  // namespace onebit::device::cuda::detail
