#pragma once
// The CUDA launchers. device/launch/launch.hpp describes each of them. Sums run in the CPU's order (cpu/launch.hpp), so
// that sums of the same terms have the same bits.
//
// Grids are capped, and kernels loop over the remaining work, so that no grid exceeds CUDA's limits. Sizes of zero
// launch nothing.

#include <bit>

#include "device/cuda/lanes.cuh"
#include "device/cuda/signs.cuh"
#include "device/launch/launch.hpp"

namespace onebit::device::cuda {

namespace detail {

inline constexpr unsigned kItemThreads = 32;
inline constexpr unsigned kColumnThreads = 32;  // consecutive threads take consecutive columns

/// Returns the number of a block's threads along `columns` columns. The block's other threads take further rows.
inline unsigned threads_along(Index columns) {
  return columns < kColumnThreads ? std::bit_ceil(static_cast<unsigned>(columns)) : kColumnThreads;
}

template <class Terms>
__device__ void add_terms(Terms& sums, const Terms& terms) {
#pragma unroll
  for (Index k = 0; k < Terms::kCount; ++k) sums.term[k] += terms.term[k];
}

template <class Kernel>
__global__ void visit(Index n, const __grid_constant__ Kernel kernel) {
  const Index step = Index{gridDim.x} * blockDim.x;
  for (Index i = Index{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) kernel(i);
}

template <class Kernel>
__global__ void visit_rows(Index rows, Index columns, const __grid_constant__ Kernel kernel) {
  const Index row_step = Index{gridDim.y} * blockDim.y;
  const Index column_step = Index{gridDim.x} * blockDim.x;
  for (Index row = Index{blockIdx.y} * blockDim.y + threadIdx.y; row < rows; row += row_step) {
    for (Index column = Index{blockIdx.x} * blockDim.x + threadIdx.x; column < columns; column += column_step) {
      kernel(row, column);
    }
  }
}

/// A block handles up to 32 columns of a group, with a thread for each of their partial sums.
template <class Kernel>
__global__ void __launch_bounds__(kColumnThreads* kColumnLanes)
    visit_columns(Index groups, Index rows, Index columns, const __grid_constant__ Kernel kernel) {
  using Terms = decltype(kernel(groups, rows, columns));
  __shared__ Terms sums[kColumnLanes][kColumnThreads];
  const auto lane = static_cast<Index>(threadIdx.y);
  for (Index group = blockIdx.y; group < groups; group += gridDim.y) {
    for (Index first = Index{blockIdx.x} * blockDim.x; first < columns; first += Index{gridDim.x} * blockDim.x) {
      const Index column = first + threadIdx.x;
      Terms own{};
      for (Index row = lane; row < rows && column < columns; row += kColumnLanes) {
        add_terms(own, kernel(group, row, column));
      }
      sums[lane][threadIdx.x] = own;
      for (Index half = kColumnLanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (lane < half) add_terms(sums[lane][threadIdx.x], sums[lane + half][threadIdx.x]);
      }
      if (lane == 0 && column < columns) kernel.put(group, column, sums[0][threadIdx.x]);
      __syncthreads();
    }
  }
}

/// Every 16 consecutive threads share an item.
template <class Kernel>
__global__ void __launch_bounds__(kThreads) visit_items(Index n, const __grid_constant__ Kernel kernel) {
  constexpr Index groups = kThreads / kItemLanes;
  const Index step = Index{gridDim.x} * groups;
  const HalfWarp lanes(threadIdx.x);
  for (Index item = Index{blockIdx.x} * groups + threadIdx.x / kItemLanes; item < n; item += step) kernel(item, lanes);
}

/// The consecutive blocks of a group share an item. memory: the groups' memory, then a count of arrivals for each.
template <class Kernel>
__global__ void __launch_bounds__(kLargeItemLanes, 1)
    visit_large_items(Index n, const GroupRoom room, double* memory, const __grid_constant__ Kernel kernel) {
  __shared__ GroupMember::Scratch scratch;
  const Index group = blockIdx.x / room.members, groups = gridDim.x / room.members;
  auto* arrivals = reinterpret_cast<unsigned long long*>(memory + groups * room.words());
  const GroupMember member(threadIdx.x, scratch, arrivals + group);
  const GroupLanes lanes(member, blockIdx.x % room.members, room.members, room.scratch(memory + group * room.words()));
  for (Index item = group; item < n; item += groups) {
    kernel(item, lanes);
    __syncthreads();
  }
}

}  // namespace detail

template <class Kernel>
void for_each(const Queue& queue, Index n, Kernel kernel) {
  using namespace detail;
  if (n > 0) launch(queue, blocks(ceil_div(n, kThreads)), kThreads, typeid(Kernel), visit<Kernel>, n, kernel);
}

/// A kernel that divides its items among lanes gets half a warp for each item, and any other kernel a thread for each.
/// Kernels of the second kind run in small blocks, which spread few items over the whole GPU.
template <class Kernel>
void for_each_item(const Queue& queue, Index n, Kernel kernel) {
  using namespace detail;
  if (n <= 0) return;
  if constexpr (requires(const HalfWarp& lanes) { kernel(n, lanes); }) {
    constexpr Index groups = kThreads / kItemLanes;
    launch(queue, blocks(ceil_div(n, groups)), kThreads, typeid(Kernel), visit_items<Kernel>, n, kernel);
  } else {
    launch(queue, blocks(ceil_div(n, kItemThreads)), kItemThreads, typeid(Kernel), visit<Kernel>, n, kernel);
  }
}

namespace detail {

/// Members of a group wait for each other, so all groups have to run at the same time. Returns false if the GPU does
/// not run `together` blocks at once.
template <class Kernel>
bool start_large_items(const Queue& queue, const ItemSizes& sizes, Index together, Kernel kernel) {
  constexpr auto threads = static_cast<unsigned>(kLargeItemLanes);
  constexpr Index most_groups = 4096;
  const auto run = visit_large_items<Kernel>;
  const Index members = group_size(sizes, together);
  const bool alone = members == 1;
  const GroupRoom room{.tiles = alone ? 0 : ceil_div(sizes.longest, kTile), .members = members};
  const Index groups = alone ? std::min(sizes.count, most_groups) : together / members;
  const Index words = groups * (room.words() + 1);
  double* memory = workspace(queue, words);
  const auto grid = static_cast<unsigned>(groups * members);
  if (alone) {
    launch(queue, grid, threads, typeid(Kernel), run, sizes.count, room, memory, kernel);
    return true;
  }
  clear(queue, memory, words);
  return launch_together(queue, grid, threads, typeid(Kernel), run, sizes.count, room, memory, kernel);
}

}  // namespace detail

template <class Kernel>
void for_each_large_item(const Queue& queue, const ItemSizes& sizes, Kernel kernel) {
  using namespace detail;
  if (sizes.count <= 0) return;
  Index together = sizes.longest < 2 * kTile ? 1 : resident_blocks(queue, visit_large_items<Kernel>, kLargeItemLanes);
  while (!start_large_items(queue, sizes, together, kernel)) together /= 2;
}

template <class Kernel>
void for_each_row(const Queue& queue, Index rows, Index columns, Kernel kernel) {
  using namespace detail;
  if (rows <= 0 || columns <= 0) return;
  const unsigned width = threads_along(columns);
  const dim3 threads(width, kThreads / width);
  const dim3 grid(blocks(ceil_div(columns, threads.x)), blocks(ceil_div(rows, threads.y)));
  launch(queue, grid, threads, typeid(Kernel), visit_rows<Kernel>, rows, columns, kernel);
}

template <class Kernel>
void sum_columns(const Queue& queue, Index groups, Index rows, Index columns, Kernel kernel) {
  using namespace detail;
  if (groups <= 0 || columns <= 0) return;
  const dim3 threads(threads_along(columns), static_cast<unsigned>(kColumnLanes));
  const dim3 grid(blocks(ceil_div(columns, threads.x)), blocks(groups));
  launch(queue, grid, threads, typeid(Kernel), visit_columns<Kernel>, groups, rows, columns, kernel);
}

template <class Kernel>
void reduce(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums) {
  using namespace detail;
  reduce_in(workspace(queue, 2 * rows * chunks.count), queue, rows, chunks, kernel, sums);
}

template <class Kernel>
void pack_bits(const Queue& queue, const ChunkView& chunks, const SignRows& out, Kernel kernel) {
  using namespace detail;
  if (out.rows <= 0 || chunks.count <= 0) return;
  launch(queue, row_blocks(out.rows, chunks.count), kThreads, typeid(Kernel), pack_chunks<Kernel>, chunks, out, kernel);
}

template <class Kernel>
void reduce_and_pack(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums,
                     const SignRows& out) {
  reduce(queue, rows, chunks, kernel.sum, sums);
  for_each(queue, rows * chunks.segments, kernel.scale);
  pack_bits(queue, chunks, out, kernel.bit);
}

template <class Kernel>
void for_each_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel) {
  using namespace detail;
  if (chunks.count <= 0) return;
  double* weights = workspace(queue, rows.signs.rows * rows.scale_count);
  weigh_rows(queue, rows, weights);
  const auto run = rows.signs.rows == 1 ? decode_signs<Kernel> : average_signs<Kernel>;
  launch(queue, blocks(chunks.count), kThreads, typeid(Kernel), run, chunks, rows, weights, kernel);
}

template <class Kernel>
void reduce_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel,
                      double* sums) {
  using namespace detail;
  const Index weight_count = rows.signs.rows * rows.scale_count;
  double* weights = workspace(queue, weight_count + 2 * chunks.count);
  double* partial = weights + weight_count;
  if (chunks.count > 0) {
    weigh_rows(queue, rows, weights);
    launch(queue, blocks(chunks.count), kSumThreads, typeid(Kernel), sum_signs<Kernel>, chunks, rows, weights, kernel,
           partial);
  }
  sum_segments(queue, 1, chunks, partial, partial + chunks.count, sums);
}

template <class Kernel>
void reduce_signs(const Queue& queue, const ChunkView& chunks, const SignVector& signs, Kernel kernel, double* sums) {
  reduce(queue, 1, chunks, detail::WithSigns<Kernel>{kernel, signs}, sums);
}

}  // namespace onebit::device::cuda
