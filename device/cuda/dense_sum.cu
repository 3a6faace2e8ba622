#include "device/cuda/launch.cuh"
#include "device/dense_sum_kernels.hpp"

namespace onebit::device::cuda {
namespace {

/// Adds the rows to a column's stack of nodes, in the order of cpu/dense_sum.cpp. The open block is summed in a
/// register.
struct AbsorbKernel {
  AbsorbJob job;

  ONEBIT_HOST_DEVICE double& node(Index k, Index column) const { return job.nodes[k * job.columns + column]; }

  ONEBIT_HOST_DEVICE void operator()(Index column) const {
    double stack[AbsorbJob::kMostNodes];
    Index open = job.node_count;  // where the open block lies: above the closed nodes
    for (Index k = 0; k < open; ++k) stack[k] = node(k, column);
    double sum = job.opens(job.first) ? 0.0 : node(open, column);
    for (Index worker = job.first; worker < job.first + job.count; ++worker) {
      const auto value = static_cast<double>(job.rows[(worker - job.first) * job.stride + column]);
      sum = job.opens(worker) ? value : sum + value;
      if (!job.closes(worker)) continue;
      for (Index merges = job.tree.merges_after(worker / BlockTree::kBlock); merges > 0; --merges) {
        sum = stack[--open] + sum;
      }
      stack[open++] = sum;
    }
    for (Index k = 0; k < open; ++k) node(k, column) = stack[k];
    if (!job.closes(job.first + job.count - 1)) node(open, column) = sum;
  }
};

}  // namespace

void absorb_rows(const Queue& queue, const AbsorbJob& job) {
  if (job.count > 0) for_each(queue, job.columns, AbsorbKernel{job});
}

}  // namespace onebit::device::cuda
