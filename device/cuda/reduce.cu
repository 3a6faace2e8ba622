// The second half of a reduction: the sums of chunks are added up by segment.

#include "device/cuda/launch.cuh"

namespace onebit::device::cuda::detail {
namespace {

/// Sums n values by the tree of cpu::tree_sum, all threads of a block together. A level is read from one array and
/// written to the other. Thread 0's result is the sum.
__device__ double tree_sum(double* values, double* spare, Index n) {
  if (n == 0) return 0;
  for (; n > 1; n = (n + 1) / 2) {
    for (Index i = threadIdx.x; i < n / 2; i += blockDim.x) spare[i] = values[2 * i] + values[2 * i + 1];
    if (n % 2 != 0 && threadIdx.x == 0) spare[n / 2] = values[n - 1];
    __syncthreads();
    double* const written = spare;
    spare = values;
    values = written;
  }
  return values[0];
}

/// A block sums a row's segment.
__global__ void tree_sums(Index rows, const __grid_constant__ ChunkView chunks, double* partial, double* spare,
                          double* sums) {
  for (Index unit = blockIdx.x; unit < rows * chunks.segments; unit += gridDim.x) {
    const Index segment = unit % chunks.segments;
    const Index first = chunks.first(segment);
    const Index start = unit / chunks.segments * chunks.count + first;
    const double sum = tree_sum(partial + start, spare + start, chunks.first(segment + 1) - first);
    if (threadIdx.x == 0) sums[unit] = sum;
  }
}

}  // namespace

void sum_segments(const Queue& queue, Index rows, const ChunkView& chunks, double* partial, double* spare,
                  double* sums) {
  const Index units = rows * chunks.segments;
  if (units <= 0) return;
  queue.context().make_current();
  tree_sums<<<blocks(units), kThreads, 0, queue.context().stream()>>>(rows, chunks, partial, spare, sums);
  check(cudaGetLastError(), "launch of tree_sums");
}

}  // namespace onebit::device::cuda::detail
