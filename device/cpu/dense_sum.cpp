#include <algorithm>
#include <array>

#include "device/comm/dense_sum_kernels.hpp"
#include "device/cpu/launch.hpp"

namespace onebit::device::cpu {
namespace {

constexpr Index kTile = 512;

/// The stack of nodes over one tile of columns.
struct Stack {
  double* nodes;
  Index width;
  double* node(Index k) const { return nodes + k * kTile; }
};

void add_row(const Stack& stack, Index k, const float* row, bool opens) {
  double* node = stack.node(k);
  if (opens) {
#pragma omp simd
    for (Index c = 0; c < stack.width; ++c) node[c] = static_cast<double>(row[c]);
  } else {
#pragma omp simd
    for (Index c = 0; c < stack.width; ++c) node[c] += static_cast<double>(row[c]);
  }
}

void join_top(const Stack& stack, Index top) {
  const double* source = stack.node(top);
  double* target = stack.node(top - 1);
#pragma omp simd
  for (Index c = 0; c < stack.width; ++c) target[c] += source[c];
}

void absorb_tile(const AbsorbJob& job, Index begin, const Stack& stack) {
  Index open = job.node_count;  // the open block is above the closed nodes
  const Index kept = open + (job.opens(job.first) ? 0 : 1);
  for (Index k = 0; k < kept; ++k) std::copy_n(job.nodes + k * job.columns + begin, stack.width, stack.node(k));
  for (Index worker = job.first; worker < job.first + job.count; ++worker) {
    add_row(stack, open, job.rows + (worker - job.first) * job.stride + begin, job.opens(worker));
    if (!job.closes(worker)) continue;
    for (Index merges = job.tree.merges_after(worker / BlockTree::kBlock); merges > 0; --merges)
      join_top(stack, open--);
    ++open;
  }
  const Index left = open + (job.closes(job.first + job.count - 1) ? 0 : 1);
  for (Index k = 0; k < left; ++k) std::copy_n(stack.node(k), stack.width, job.nodes + k * job.columns + begin);
}

}  // namespace

void absorb_rows(const Queue& queue, const AbsorbJob& job) {
  queue.check(job);
  parallel(queue, ceil_div(job.columns, kTile), [&](Index unit) {
    alignas(64) std::array<double, AbsorbJob::kMostNodes * kTile> nodes;
    const Index begin = unit * kTile;
    absorb_tile(job, begin, {nodes.data(), std::min(kTile, job.columns - begin)});
  });
}

}  // namespace onebit::device::cpu
