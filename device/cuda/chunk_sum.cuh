#pragma once
// Sums over chunks by blocks of threads, in the order of cpu/launch.hpp: a thread forms one of the 16 interleaved sums
// of one run of kSumRun elements; a tree adds up the runs, and then the 16 lanes.

#include "device/cuda/grid.cuh"
#include "device/launch/chunks.hpp"

namespace onebit::device::cuda::detail {

/// Returns a segmented kernel at one row and chunk, as a function of the element.
template <class Kernel>
__device__ auto at(const Kernel& kernel, Index row, const Chunk& chunk) {
  if constexpr (requires { kernel.bind(row, chunk); }) {
    return kernel.bind(row, chunk);
  } else if constexpr (requires { kernel.bind(row, chunk.segment); }) {
    return kernel.bind(row, chunk.segment);
  } else {
    return [&kernel, row, segment = chunk.segment](Index i) { return kernel(row, segment, i); };
  }
}

/// Calls element(first + k * step) for k in [0, count) and passes the results to take, in order. If an element offers
/// load (its reads) and store (its writes and result), all reads are under way before the first write. Otherwise later
/// reads would wait for earlier writes, because the compiler cannot prove that they access different memory.
template <Index count, class Element, class Take>
__device__ void visit_together(const Element& element, Index first, Index step, const Take& take) {
  if constexpr (requires { element.load(first); }) {
    decltype(element.load(first)) loaded[static_cast<std::size_t>(count)];
#pragma unroll
    for (Index k = 0; k < count; ++k) loaded[k] = element.load(first + k * step);
#pragma unroll
    for (Index k = 0; k < count; ++k) take(element.store(first + k * step, loaded[k]));
  } else {
    for (Index k = 0; k < count; ++k) take(element(first + k * step));
  }
}

inline constexpr unsigned kLanes = kSumLanes;
/// Threads of the block that sums a chunk.
inline constexpr unsigned kSumThreads = static_cast<unsigned>(kChunk / kSumRun) * kLanes;
static_assert(kSumThreads == kThreads, "a thread has one lane of one run");

/// This thread's share of a chunk's sum: lane threadIdx.x % kLanes of run threadIdx.x / kLanes. This thread reads all
/// elements of its share.
template <class Term>
__device__ double lane_sum_alone(const Term& term, const Chunk& chunk) {
  constexpr Index together = 4;
  const Index first = chunk.begin + threadIdx.x / kLanes * kSumRun + threadIdx.x % kLanes;
  double sum = 0;
  const auto add = [&sum](double value) { sum += value; };
  if (first + kSumRun - kLanes < chunk.end) {
    for (Index i = first; i < first + kSumRun; i += together * kLanes) visit_together<together>(term, i, kLanes, add);
  } else {
    for (Index i = first; i < first + kSumRun && i < chunk.end; i += kLanes) add(term(i));
  }
  return sum;
}

/// The same share of the sum, but two threads take turns reading the elements, so that the warp's accesses are
/// contiguous.
template <class Term>
__device__ double lane_sum_in_turns(const Term& term, const Chunk& chunk) {
  constexpr Index together = 4, warp = 32, rounds = 2 * kSumRun / (together * warp);
  const Index runs = chunk.begin + threadIdx.x / warp * (2 * kSumRun);  // the warp's two runs
  if (runs + 2 * kSumRun > chunk.end) return lane_sum_alone(term, chunk);
  const Index lane = threadIdx.x % warp;
  double sum = 0;
#pragma unroll 1
  for (Index round = 0; round < rounds; ++round) {
    // The threads that sum this run read its even groups of kLanes elements, and the warp's other threads read the odd
    // ones.
    const Index run = round / (rounds / 2);
    const bool adds = run == lane / kLanes;
    visit_together<together>(term, runs + round * together * warp + (lane ^ run * kLanes), warp, [&](double even) {
      const double odd = __shfl_xor_sync(0xFFFFFFFFu, even, kLanes);
      if (adds) sum = (sum + even) + odd;
    });
  }
  return sum;
}

/// This thread's share of a chunk's sum. What a kernel writes decides how it should read: on an H200, kernels that
/// wrote half cache lines reached 11% to 66% of the memory's rate, whereas reading half lines cost nothing.
template <class Term>
__device__ double lane_sum(const Term& term, const Chunk& chunk) {
  if constexpr (requires { term.load(chunk.begin); }) {
    return lane_sum_in_turns(term, chunk);
  } else {
    return lane_sum_alone(term, chunk);
  }
}

/// Adds up the sums of a warp's two runs, lane by lane.
__device__ inline double add_runs(double sum) {
  return sum + __shfl_xor_sync(0xFFFFFFFFu, sum, kLanes);
}

/// Adds up lane_sum over the threads of a block; only the first thread gets the result. `sums` is shared memory.
/// Successive calls must alternate between two such arrays, so that no thread overwrites one before all have read it.
__device__ inline double block_sum(double sum, double* sums) {
  constexpr unsigned warps = kSumThreads / 32, half = warps / 2;
  sum = add_runs(sum);
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane < kLanes) sums[warp * kLanes + lane] = sum;
  __syncthreads();
  if (warp > 0) return 0;
  const double* own = sums + lane / kLanes * half * kLanes + lane % kLanes;  // sums of half the warps
  static_assert(half == 4);
  sum = (own[0] + own[kLanes]) + (own[2 * kLanes] + own[3 * kLanes]);
  sum = add_runs(sum);
  for (int neighbour = 1; neighbour < static_cast<int>(kLanes); neighbour *= 2) {
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, neighbour);
  }
  return sum;
}

/// Blocks of sum_chunks that a multiprocessor should run at once, enough to hide the latency of loads. With a larger
/// number, nvcc spills some kernels' registers.
inline constexpr int kSumBlocks = 4;

/// Computes partial[row * chunks.count + chunk] = sum of the chunk's terms.
template <class Kernel>
__global__ void __launch_bounds__(kSumThreads, kSumBlocks)
    sum_chunks(Index rows, const __grid_constant__ ChunkView chunks, const __grid_constant__ Kernel kernel,
               double* partial) {
  __shared__ double sums[2][kSumThreads / 32 * kLanes];
  unsigned turn = 0;
  for (Index k = blockIdx.y; k < chunks.count; k += gridDim.y) {
    for (Index row = blockIdx.x; row < rows; row += gridDim.x, turn ^= 1) {
      const Chunk chunk = chunks[k];
      const double sum = block_sum(lane_sum(at(kernel, row, chunk), chunk), sums[turn]);
      if (threadIdx.x == 0) partial[row * chunks.count + k] = sum;
    }
  }
}

/// Computes sums[row * chunks.segments + segment] = sum of the segment's partial[row * chunks.count + chunk], by a
/// pairwise tree. Overwrites `partial` and `spare`, which are of the same size.
void sum_segments(const Queue& queue, Index rows, const ChunkView& chunks, double* partial, double* spare,
                  double* sums);

/// Returns `numbers` doubles of the queue's workspace.
inline double* workspace(const Queue& queue, Index numbers) {
  return static_cast<double*>(queue.context().workspace(numbers * static_cast<Index>(sizeof(double))));
}

/// Sets numbers in the queue's workspace to zero.
inline void clear(const Queue& queue, double* numbers, Index count) {
  queue.context().make_current();
  check(cudaMemsetAsync(numbers, 0, static_cast<std::size_t>(count) * sizeof(double), queue.context().stream()),
        "cudaMemsetAsync");
}

/// Runs reduce in a workspace of 2 * rows * chunks.count numbers.
template <class Kernel>
void reduce_in(double* workspace, const Queue& queue, Index rows, const ChunkView& chunks, const Kernel& kernel,
               double* sums) {
  if (rows > 0 && chunks.count > 0) {
    launch(queue, row_blocks(rows, chunks.count), kSumThreads, typeid(Kernel), sum_chunks<Kernel>, rows, chunks, kernel,
           workspace);
  }
  sum_segments(queue, rows, chunks, workspace, workspace + rows * chunks.count, sums);
}

}  // namespace onebit::device::cuda::detail
