#pragma once
// The dense mean over workers, summed in double: blocks of 4 workers in index order, blocks combined by a fixed
// pairwise tree. Rows may arrive all at once or in groups, on one device or on several that hold whole blocks; the bits
// are the same.

#include "device/comm/block_tree.hpp"
#include "device/comm/communicator.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::device {

class DenseSum {
 public:
  static constexpr Index kBlock = BlockTree::kBlock;

  /// Prepares for rows of `columns` elements. Each of the shard's workers has to be absorbed, in index order, before
  /// each take_mean.
  DenseSum(const Shard& shard, Index columns);

  /// Adds rows of workers [group], which this shard holds; worker group.first + r at rows + r * stride. Groups come in
  /// order.
  void absorb(Range group, const float* rows, Index stride);

  /// Writes the mean over the workers of all shards and starts over. Collective. With several ranks every rank combines
  /// a slice of the columns and sends it to the others.
  void take_mean(float* mean);

 private:
  struct Fold;
  void reserve(Range first_group);
  Range slice(Index rank) const;
  void fold_slices(float* mean);

  Shard shard_;
  Index columns_;
  BlockTree tree_;
  Index absorbed_ = 0;       ///< workers of this shard so far
  Buffer<double> nodes_;     ///< [nodes][columns]: between groups the tree's roots so far, and the open block
  Buffer<double> gathered_;  ///< [nodes of all ranks][slice], with several ranks
  Buffer<BlockTree::Merge> merges_;
  Index root_ = 0;  ///< the node that holds the total after the merges
};

}  // namespace onebit::device
