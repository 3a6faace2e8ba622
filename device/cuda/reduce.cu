// The second half of a reduction: the sums of chunks are added up by segment.

#include "device/cuda/chunk_sum.cuh"

namespace onebit::device::cuda::detail {
namespace {

/// The number of values that a block adds up.
constexpr Index kFold = 4 * Index{kThreads};

/// One pass over every row's segments, which adds up kFold numbers at a time: the chunks' sums in the first pass, then
/// the results of the previous pass.
struct Fold {
  const double* from;
  double* to;    ///< receives a segment's results, starting at the index of the segment's first chunk; in the last
                 ///< pass, receives the segment's sum at the index of the segment
  bool last;     ///< whether this pass yields one number for each segment
  Index folded;  ///< number of chunks summed in one number of `from`
  Index most;    ///< number of blocks for the longest segment
};

/// Sum of n <= kFold numbers by the tree of cpu::tree_sum; only the first thread gets it. Missing numbers add nothing.
__device__ double tree_sum(const double* values, Index n, double* sums) {
  const Index first = 4 * Index{threadIdx.x};
  const auto value = [&](Index k) { return first + k < n ? values[first + k] : 0.0; };
  double sum = (value(0) + value(1)) + (value(2) + value(3));
  for (int neighbour = 1; neighbour < 32; neighbour *= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, neighbour);
  constexpr unsigned warps = kThreads / 32;
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  sum = sums[threadIdx.x % warps];
  for (int neighbour = 1; neighbour < static_cast<int>(warps); neighbour *= 2) {
    sum += __shfl_xor_sync(0xFFFFFFFFu, sum, neighbour);
  }
  return sum;
}

/// A block adds up kFold numbers of a row's segment.
__global__ void __launch_bounds__(kThreads)
    fold(Index rows, const __grid_constant__ ChunkView chunks, const __grid_constant__ Fold job) {
  __shared__ double sums[2][kThreads / 32];
  unsigned turn = 0;
  for (Index unit = blockIdx.x; unit < rows * chunks.segments * job.most; unit += gridDim.x) {
    const Index block = unit % job.most, segment = unit / job.most % chunks.segments;
    const Index row = unit / job.most / chunks.segments;
    const Index first = chunks.first(segment);
    const Index count = ceil_div(chunks.first(segment + 1) - first, job.folded);
    if (block > 0 && block * kFold >= count) continue;  // an empty segment has the sum 0
    const Index begin = block * kFold;
    const Index here = count - begin < kFold ? count - begin : kFold;
    const double* from = job.from + row * chunks.count + first + begin;
    double sum = 0;
    if (here == 1) {
      sum = *from;
    } else if (here > 1) {
      sum = tree_sum(from, here, sums[turn]);
      turn ^= 1;
    }
    if (threadIdx.x != 0) continue;
    job.to[job.last ? row * chunks.segments + segment : row * chunks.count + first + block] = sum;
  }
}

}  // namespace

void sum_segments(const Queue& queue, Index rows, const ChunkView& chunks, double* partial, double* spare,
                  double* sums) {
  if (rows * chunks.segments <= 0) return;
  Index longest = std::max<Index>(chunks.count, 1);
  for (Index folded = 1;; folded *= kFold) {
    const Index most = ceil_div(longest, kFold);
    const bool last = most == 1;
    launch(queue, blocks(rows * chunks.segments * most), kThreads, typeid(Fold), fold, rows, chunks,
           Fold{partial, last ? sums : spare, last, folded, most});
    if (last) return;
    std::swap(partial, spare);
    longest = most;
  }
}

}  // namespace onebit::device::cuda::detail
