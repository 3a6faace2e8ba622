#pragma once
// The kernels of the dense mean: one absorbs rows (in cpu/ and cuda/), and one joins the remaining nodes.

#include "device/comm/block_tree.hpp"
#include "device/device.hpp"

namespace onebit::device {

/// Rows of consecutive workers to be added to a shard's stack of nodes. Node k of column c is at nodes[k*columns+c].
struct AbsorbJob {
  BlockTree tree;
  Index workers = 0;     ///< number of workers of the whole run
  Index first = 0;       ///< first worker of the group
  Index count = 0;       ///< number of workers in the group
  Index node_count = 0;  ///< closed nodes on the stack before the first worker; any open block is above them
  Index columns = 0;
  const float* rows = nullptr;
  Index stride = 0;
  double* nodes = nullptr;  ///< read before the first worker, written after the last

  static constexpr Index kMostNodes = 48;  ///< limit on the nodes of any stack, including an open block

  ONEBIT_HOST_DEVICE bool opens(Index worker) const { return worker % BlockTree::kBlock == 0; }
  ONEBIT_HOST_DEVICE bool closes(Index worker) const {
    return worker % BlockTree::kBlock == BlockTree::kBlock - 1 || worker == workers - 1;
  }
};

namespace cpu {
void absorb_rows(const Queue& queue, const AbsorbJob& job);
}
#if defined(ONEBIT_CUDA)
namespace cuda {
void absorb_rows(const Queue& queue, const AbsorbJob& job);
}
#endif

/// Joins the nodes of a column into the total, in place, and divides by the number of workers.
struct JoinKernel {
  double* nodes;
  Index stride;
  const BlockTree::Merge* merges;
  Index merge_count;
  Index root;
  double workers;
  float* mean;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    for (Index m = 0; m < merge_count; ++m)
      nodes[merges[m].target * stride + i] += nodes[merges[m].source * stride + i];
    mean[i] = static_cast<float>(nodes[root * stride + i] / workers);
  }
};

}  // namespace onebit::device
