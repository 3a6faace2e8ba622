#include "device/comm/dense_sum_kernels.hpp"
#include "device/cuda/launch.cuh"

namespace onebit::device::cuda {
namespace {

/// Adds the rows to a column's stack of nodes, in the same order as cpu/dense_sum.cpp. The open block is summed in a
/// register.
struct AbsorbKernel {
  AbsorbJob job;

  ONEBIT_HOST_DEVICE double& node(Index k, Index column) const { return job.nodes[k * job.columns + column]; }

  ONEBIT_HOST_DEVICE double load(Index worker, Index column) const {
    return static_cast<double>(job.rows[(worker - job.first) * job.stride + column]);
  }

  /// Returns the sum of a whole block, reading all of its rows at once.
  ONEBIT_HOST_DEVICE double block(Index first, Index column) const {
    static_assert(BlockTree::kBlock == 4);
    const double a = load(first, column), b = load(first + 1, column), c = load(first + 2, column),
                 d = load(first + 3, column);
    return a + b + c + d;
  }

  ONEBIT_HOST_DEVICE void operator()(Index column) const {
    double stack[AbsorbJob::kMostNodes];
    Index open = job.node_count;  // the open block is above the closed nodes
    for (Index k = 0; k < open; ++k) stack[k] = node(k, column);
    double sum = job.opens(job.first) ? 0.0 : node(open, column);
    const Index end = job.first + job.count;
    for (Index worker = job.first; worker < end;) {
      if (job.opens(worker) && worker + BlockTree::kBlock <= end) {
        sum = block(worker, column);
        worker += BlockTree::kBlock;
      } else {
        const double value = load(worker, column);
        sum = job.opens(worker) ? value : sum + value;
        ++worker;
      }
      if (!job.closes(worker - 1)) continue;
      for (Index merges = job.tree.merges_after((worker - 1) / BlockTree::kBlock); merges > 0; --merges) {
        sum = stack[--open] + sum;
      }
      stack[open++] = sum;
    }
    for (Index k = 0; k < open; ++k) node(k, column) = stack[k];
    if (!job.closes(end - 1)) node(open, column) = sum;
  }
};

}  // namespace

void absorb_rows(const Queue& queue, const AbsorbJob& job) {
  if (job.count > 0) for_each(queue, job.columns, AbsorbKernel{job});
}

}  // namespace onebit::device::cuda
