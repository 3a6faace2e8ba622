#include "device/comm/dense_sum.hpp"

#include <algorithm>

#include "device/comm/dense_sum_kernels.hpp"
#include "device/launch/launch.hpp"
#include "device/memory/grow.hpp"

namespace onebit::device {
namespace {

BlockTree tree_of(Range workers) {
  return {workers.first / BlockTree::kBlock, ceil_div(workers.end(), BlockTree::kBlock)};
}

template <class T>
Block block(T* data, Index rows, Index width, Index pitch) {
  constexpr auto size = static_cast<Index>(sizeof(T));
  return {data, rows, width * size, pitch * size};
}

bool holds_whole_blocks(const Shard& shard) {
  return std::ranges::all_of(shard.ranges, [](Range range) { return range.first % BlockTree::kBlock == 0; });
}

}  // namespace

DenseSum::DenseSum(const Shard& shard, Index columns) : shard_(shard), columns_(columns), tree_(tree_of(shard.own())) {
  if (!holds_whole_blocks(shard)) {
    const Index width = slice(shard.rank()).count;
    rows_ = Buffer<float>(shard.device, shard.own().count * columns);
    arrived_ = Buffer<float>(shard.device, shard.workers() * width);
    of_slice_ = std::make_unique<DenseSum>(whole(shard.device, shard.workers()), width);
    return;
  }
  std::vector<BlockTree> trees;
  Index nodes = 0;
  for (const Range& range : shard.ranges) {
    trees.push_back(tree_of(range));
    nodes += trees.back().nodes_after(trees.back().end - trees.back().first);
  }
  const BlockTree::Plan plan = BlockTree::join(trees);
  merges_ = Buffer<BlockTree::Merge>::copy_of(shard.device, plan.merges);
  root_ = plan.root;
  if (shard.ranks() > 1) gathered_ = Buffer<double>(shard.device, nodes * slice(shard.rank()).count);
}

/// Allocates the nodes that are kept between groups. A single group needs only the nodes that remain at the end.
void DenseSum::reserve(Range first_group) {
  const bool single = first_group.count == shard_.own().count;
  const Index nodes = single ? tree_.nodes_after(tree_.end - tree_.first) : tree_.most_nodes();
  grow(nodes_, shard_.device, nodes * columns_);
}

void DenseSum::absorb(Range group, const float* rows, Index stride) {
  if (of_slice_) return keep_rows(group, rows, stride);
  if (absorbed_ == 0) reserve(group);
  const AbsorbJob job{.tree = tree_,
                      .workers = shard_.workers(),
                      .first = group.first,
                      .count = group.count,
                      .node_count = tree_.nodes_after(absorbed_ / kBlock),
                      .columns = columns_,
                      .rows = rows,
                      .stride = stride,
                      .nodes = nodes_.data()};
  shard_.device.run([&](const auto& queue) { absorb_rows(queue, job); });
  absorbed_ += group.count;
}

void DenseSum::keep_rows(Range group, const float* rows, Index stride) {
  Memory& memory = shard_.device.memory();
  const Block kept =
      block(rows_.data() + (group.first - shard_.own().first) * columns_, group.count, columns_, columns_);
  if (kept.bytes() > 0) memory.copy(kept, memory, block(const_cast<float*>(rows), group.count, columns_, stride));
}

void DenseSum::take_mean(float* mean) {
  absorbed_ = 0;
  if (of_slice_) return add_rows(mean);
  if (shard_.ranks() > 1) return fold_slices(mean);
  const JoinKernel kernel{
      nodes_.data(), columns_, merges_.data(), merges_.size(), root_, static_cast<double>(shard_.workers()), mean};
  for_each(shard_.device, columns_, kernel);
}

/// Returns the columns that a rank combines.
Range DenseSum::slice(Index rank) const {
  const Index first = columns_ * rank / shard_.ranks();
  return {first, columns_ * (rank + 1) / shard_.ranks() - first};
}

void DenseSum::add_rows(float* mean) {
  const Range own = slice(shard_.rank());
  std::vector<Blocks> to, from;
  for (Index rank = 0; rank < shard_.ranks(); ++rank) {
    const Range theirs = shard_.ranges[static_cast<std::size_t>(rank)], columns = slice(rank);
    to.push_back({block(rows_.data() + columns.first, shard_.own().count, columns.count, columns_)});
    from.push_back({block(arrived_.data() + theirs.first * own.count, theirs.count, own.count, own.count)});
  }
  arrived_.poison();
  shard_.communicator->all_to_all(shard_.device, to, from);
  of_slice_->absorb({0, shard_.workers()}, arrived_.data(), own.count);
  of_slice_->take_mean(mean + own.first);
  share_slices(mean);
}

void DenseSum::fold_slices(float* mean) {
  const Range own = slice(shard_.rank());
  const Index own_nodes = tree_.nodes_after(tree_.end - tree_.first);
  std::vector<Blocks> to, from;
  Index node = 0;
  for (Index rank = 0; rank < shard_.ranks(); ++rank) {
    const BlockTree theirs = tree_of(shard_.ranges[static_cast<std::size_t>(rank)]);
    const Index their_nodes = theirs.nodes_after(theirs.end - theirs.first);
    const Range columns = slice(rank);
    to.push_back({block(nodes_.data() + columns.first, own_nodes, columns.count, columns_)});
    from.push_back({block(gathered_.data() + node * own.count, their_nodes, own.count, own.count)});
    node += their_nodes;
  }
  gathered_.poison();
  shard_.communicator->all_to_all(shard_.device, to, from);
  const JoinKernel kernel{gathered_.data(), own.count, merges_.data(),
                          merges_.size(),   root_,     static_cast<double>(shard_.workers()),
                          mean + own.first};
  for_each(shard_.device, own.count, kernel);
  share_slices(mean);
}

/// Sends every rank's slice of the mean, which is already in place on that rank, to the others.
void DenseSum::share_slices(float* mean) {
  const Range own = slice(shard_.rank());
  std::vector<Blocks> to, from;
  for (Index rank = 0; rank < shard_.ranks(); ++rank) {
    const Range columns = slice(rank);
    const bool self = rank == shard_.rank();
    to.push_back(self ? Blocks{} : Blocks{block(mean + own.first, 1, own.count, own.count)});
    from.push_back(self ? Blocks{} : Blocks{block(mean + columns.first, 1, columns.count, columns.count)});
  }
  shard_.communicator->all_to_all(shard_.device, to, from);
}

}  // namespace onebit::device
