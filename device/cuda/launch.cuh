#pragma once
// The CUDA launchers: with reduce.cu and signs.cu the only places that launch kernels. What each does is said in
// device/launch.hpp; sums are in the order of the CPU's (cpu/launch.hpp), so that sums of the same terms have the same
// bits.
//
// Grids are capped and kernels loop over what is left, so that no size exceeds what a grid can be. Zero sizes launch
// nothing.

#include <algorithm>

#include "device/cuda/context.cuh"
#include "device/launch.hpp"

namespace onebit::device::cuda {

namespace detail {

inline constexpr Index kMostBlocks = 65535;  // what CUDA allows in a grid's y
inline constexpr unsigned kThreads = 256;    // of a block, a multiple of the warp's 32
inline constexpr unsigned kItemThreads = 32;
inline constexpr unsigned kRowThreads = 8;      // rows of a block of rows x columns
inline constexpr unsigned kColumnThreads = 32;  // consecutive threads take consecutive columns
inline constexpr unsigned kChunkThreads = 512;  // of a block that sums chunks
inline constexpr unsigned kLanes = 16;          // interleaved partial sums of a chunk, as on the CPU

/// Blocks for `count` pieces of work; those beyond the cap are done by the blocks' loops.
inline unsigned blocks(Index count) {
  return static_cast<unsigned>(std::min(count, kMostBlocks));
}

template <class Kernel>
__global__ void visit(Index n, const __grid_constant__ Kernel kernel) {
  const Index step = Index{gridDim.x} * blockDim.x;
  for (Index i = Index{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) kernel(i);
}

template <class Kernel>
void launch_visit(const Queue& queue, Index n, const Kernel& kernel, unsigned threads) {
  if (n <= 0) return;
  queue.context().make_current();
  visit<<<blocks(ceil_div(n, threads)), threads, 0, queue.context().stream()>>>(n, kernel);
  check_launch(typeid(Kernel));
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

/// A segmented kernel at one row and segment, as a function of the element.
template <class Kernel>
__device__ auto at(const Kernel& kernel, Index row, Index segment) {
  if constexpr (requires { kernel.bind(row, segment); }) {
    return kernel.bind(row, segment);
  } else {
    return [&kernel, row, segment](Index i) { return kernel(row, segment, i); };
  }
}

/// Sum of n terms by the block's first kLanes threads: interleaved partial sums, then a tree of neighbours. Each of
/// them returns it.
__device__ inline double lane_sum(const double* terms, Index n) {
  constexpr unsigned all_lanes = (1u << kLanes) - 1;
  double sum = 0;
  for (Index i = threadIdx.x; i < n; i += kLanes) sum += terms[i];
  for (unsigned neighbour = 1; neighbour < kLanes; neighbour *= 2) {
    sum += __shfl_xor_sync(all_lanes, sum, static_cast<int>(neighbour), static_cast<int>(kLanes));
  }
  return sum;
}

/// partial[row * chunks.count + chunk] = sum of the chunk's terms. All threads of a block compute a chunk's terms; few
/// can add them up, because the order is fixed.
template <class Kernel>
__global__ void __launch_bounds__(kChunkThreads) sum_chunks(Index rows, const __grid_constant__ ChunkView chunks,
                                                            const __grid_constant__ Kernel kernel, double* partial) {
  __shared__ double terms[kChunk];
  for (Index unit = blockIdx.x; unit < rows * chunks.count; unit += gridDim.x) {
    const Chunk chunk = chunks[unit % chunks.count];
    const auto term = at(kernel, unit / chunks.count, chunk.segment);
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) terms[i - chunk.begin] = term(i);
    __syncthreads();
    if (threadIdx.x < kLanes) {
      const double sum = lane_sum(terms, chunk.end - chunk.begin);
      if (threadIdx.x == 0) partial[unit] = sum;
    }
    __syncthreads();
  }
}

/// sums[row * chunks.segments + segment] = sum of the segment's partial[row * chunks.count + chunk] by a pairwise tree.
/// Overwrites `partial` and `spare`, which are of the same size.
void sum_segments(const Queue& queue, Index rows, const ChunkView& chunks, double* partial, double* spare,
                  double* sums);

/// A block packs a chunk, a warp 32 consecutive elements at a time.
template <class Kernel>
__global__ void pack_chunks(const __grid_constant__ ChunkView chunks, const __grid_constant__ SignRows out,
                            const __grid_constant__ Kernel kernel) {
  const Index lane = threadIdx.x % 32;
  for (Index unit = blockIdx.x; unit < out.rows * chunks.count; unit += gridDim.x) {
    const Index row = unit / chunks.count;
    const Chunk chunk = chunks[unit % chunks.count];
    const auto predicate = at(kernel, row, chunk.segment);
    std::uint8_t* bytes = out.bits + row * out.row_bytes + out.byte_offset[chunk.segment];
    for (Index first = chunk.begin + threadIdx.x - lane; first < chunk.end; first += blockDim.x) {
      const Index i = first + lane;
      const bool bit = i >= chunk.end || predicate(i);
      const unsigned word = __brev(__ballot_sync(0xFFFFFFFFu, bit));  // the first element is the highest bit
      const bool writes = lane < 4 && first + 8 * lane < chunk.end;
      if (writes) bytes[first / 8 + lane] = static_cast<std::uint8_t>(word >> (24 - 8 * lane));
    }
  }
}

/// weights[row * scale_count + k] = scales[row * scale_count + k] / rows, once for all elements.
void weigh_rows(const Queue& queue, const ScaledSignRows& rows, double* weights);

/// One segment of rows of signs, as a function of the element: the average of sign * scale, in the order of the CPU.
struct SignMean {
  const std::uint8_t* bits;  ///< of the first row
  const double* weights;     ///< of the first row
  Index rows, row_bytes, scale_count;

  __device__ double weight(Index row, Index i) const {
    const double weight = weights[row * scale_count];
    return sign_at(bits + row * row_bytes, i) > 0.0f ? weight : -weight;
  }
  __device__ double block(Index first, Index i) const {
    const Index end = first + kSignBlock < rows ? first + kSignBlock : rows;
    double sum = 0;
    for (Index row = first; row < end; ++row) sum += weight(row, i);
    return sum;
  }
  __device__ double operator()(Index i) const {
    double sum = block(0, i) + block(kSignBlock, i);
    for (Index row = 2 * kSignBlock; row < rows; row += 2 * kSignBlock) {
      sum += block(row, i) + block(row + kSignBlock, i);
    }
    return sum;
  }
};

__device__ inline SignMean sign_mean(const ScaledSignRows& rows, const double* weights, Index segment) {
  return {rows.signs.bits + rows.signs.byte_offset[segment], weights + segment / rows.segments_per_scale,
          rows.signs.rows, rows.signs.row_bytes, rows.scale_count};
}

template <class Kernel>
__global__ void average_signs(const __grid_constant__ ChunkView chunks, const __grid_constant__ ScaledSignRows rows,
                              const double* weights, const __grid_constant__ Kernel kernel) {
  for (Index unit = blockIdx.x; unit < chunks.count; unit += gridDim.x) {
    const Chunk chunk = chunks[unit];
    const auto element = kernel.bind(chunk.segment);
    const SignMean mean = sign_mean(rows, weights, chunk.segment);
    for (Index i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) element(i, mean(i));
  }
}

/// A kernel of means as one of elements, for sum_chunks.
template <class Kernel>
struct MeanTerm {
  ScaledSignRows rows;
  const double* weights;
  Kernel kernel;

  __device__ auto bind(Index, Index segment) const {
    const auto element = kernel.bind(segment);
    const SignMean mean = sign_mean(rows, weights, segment);
    return [element, mean](Index i) { return element(i, mean(i)); };
  }
};

}  // namespace detail

template <class Kernel>
void for_each(const Queue& queue, Index n, Kernel kernel) {
  detail::launch_visit(queue, n, kernel, detail::kThreads);
}

/// Small blocks: items are few, and spread over the GPU this way.
template <class Kernel>
void for_each_item(const Queue& queue, Index n, Kernel kernel) {
  detail::launch_visit(queue, n, kernel, detail::kItemThreads);
}

template <class Kernel>
void for_each_row(const Queue& queue, Index rows, Index columns, Kernel kernel) {
  if (rows <= 0 || columns <= 0) return;
  const dim3 threads(detail::kColumnThreads, detail::kRowThreads);
  const dim3 grid(detail::blocks(ceil_div(columns, threads.x)), detail::blocks(ceil_div(rows, threads.y)));
  queue.context().make_current();
  detail::visit_rows<<<grid, threads, 0, queue.context().stream()>>>(rows, columns, kernel);
  check_launch(typeid(Kernel));
}

namespace detail {

/// reduce in a workspace of 2 * rows * chunks.count numbers.
template <class Kernel>
void reduce_in(double* workspace, const Queue& queue, Index rows, const ChunkView& chunks, const Kernel& kernel,
               double* sums) {
  const Index units = rows * chunks.count;
  if (units > 0) {
    queue.context().make_current();
    sum_chunks<<<blocks(units), kChunkThreads, 0, queue.context().stream()>>>(rows, chunks, kernel, workspace);
    check_launch(typeid(Kernel));
  }
  sum_segments(queue, rows, chunks, workspace, workspace + units, sums);
}

inline double* workspace(const Queue& queue, Index numbers) {
  return static_cast<double*>(queue.context().workspace(numbers * static_cast<Index>(sizeof(double))));
}

}  // namespace detail

template <class Kernel>
void reduce(const Queue& queue, Index rows, const ChunkView& chunks, Kernel kernel, double* sums) {
  detail::reduce_in(detail::workspace(queue, 2 * rows * chunks.count), queue, rows, chunks, kernel, sums);
}

template <class Kernel>
void pack_bits(const Queue& queue, const ChunkView& chunks, const SignRows& out, Kernel kernel) {
  const Index units = out.rows * chunks.count;
  if (units <= 0) return;
  queue.context().make_current();
  detail::pack_chunks<<<detail::blocks(units), detail::kThreads, 0, queue.context().stream()>>>(chunks, out, kernel);
  check_launch(typeid(Kernel));
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
  if (chunks.count <= 0) return;
  double* weights = detail::workspace(queue, rows.signs.rows * rows.scale_count);
  detail::weigh_rows(queue, rows, weights);
  queue.context().make_current();
  detail::average_signs<<<detail::blocks(chunks.count), detail::kThreads, 0, queue.context().stream()>>>(
      chunks, rows, weights, kernel);
  check_launch(typeid(Kernel));
}

template <class Kernel>
void reduce_sign_mean(const Queue& queue, const ChunkView& chunks, const ScaledSignRows& rows, Kernel kernel,
                      double* sums) {
  const Index weight_count = rows.signs.rows * rows.scale_count;
  double* weights = detail::workspace(queue, weight_count + 2 * chunks.count);
  detail::weigh_rows(queue, rows, weights);
  detail::reduce_in(weights + weight_count, queue, 1, chunks, detail::MeanTerm<Kernel>{rows, weights, kernel}, sums);
}

}  // namespace onebit::device::cuda
