#include "device/comm/dense_sum.hpp"

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

}  // namespace

DenseSum::DenseSum(const Shard& shard, Index columns) : shard_(shard), columns_(columns), tree_(tree_of(shard.own())) {
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

void DenseSum::take_mean(float* mean) {
  absorbed_ = 0;
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

void DenseSum::fold_slices(float* mean) {
  const Range own = slice(shard_.rank());
  const Index own_nodes = tree_.nodes_after(tree_.end - tree_.first);
  std::vector<Blocks> to, from, mean_to, mean_from;
  Index node = 0;
  for (Index rank = 0; rank < shard_.ranks(); ++rank) {
    const BlockTree theirs = tree_of(shard_.ranges[static_cast<std::size_t>(rank)]);
    const Index their_nodes = theirs.nodes_after(theirs.end - theirs.first);
    const Range columns = slice(rank);
    to.push_back({block(nodes_.data() + columns.first, own_nodes, columns.count, columns_)});
    from.push_back({block(gathered_.data() + node * own.count, their_nodes, own.count, own.count)});
    const bool self = rank == shard_.rank();  // its slice of the mean is already in place
    mean_to.push_back(self ? Blocks{} : Blocks{block(mean + own.first, 1, own.count, own.count)});
    mean_from.push_back(self ? Blocks{} : Blocks{block(mean + columns.first, 1, columns.count, columns.count)});
    node += their_nodes;
  }
  gathered_.poison();
  shard_.communicator->all_to_all(shard_.device, to, from);
  const JoinKernel kernel{gathered_.data(), own.count, merges_.data(),
                          merges_.size(),   root_,     static_cast<double>(shard_.workers()),
                          mean + own.first};
  for_each(shard_.device, own.count, kernel);
  shard_.communicator->all_to_all(shard_.device, mean_to, mean_from);
}

}  // namespace onebit::device
