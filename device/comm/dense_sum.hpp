#pragma once
// The dense mean over workers, summed in double: in blocks of 4 workers in index order, which are combined by a fixed
// pairwise tree. Rows may arrive all at once or in groups, on one device or on several; the result has the same bits.

#include <memory>

#include "device/comm/block_tree.hpp"
#include "device/comm/communicator.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::device {

class DenseSum {
 public:
  static constexpr Index kBlock = BlockTree::kBlock;

  /// Prepares for rows of `columns` elements. Before each take_mean, absorb must add each of the shard's workers, in
  /// index order.
  DenseSum(const Shard& shard, Index columns);

  /// Adds the rows of the workers in `group`, which must belong to this shard; the row of worker group.first + r is at
  /// rows + r * stride. Groups must come in order.
  void absorb(Range group, const float* rows, Index stride);

  /// Writes the mean over the workers of all shards and starts a new sum. Collective. With several ranks every rank
  /// combines a slice of the columns and sends it to the others. If all shards hold whole blocks, they send the sums of
  /// these blocks; otherwise all shards send their rows.
  void take_mean(float* mean);

 private:
  struct Fold;
  void reserve(Range first_group);
  Range slice(Index rank) const;
  void keep_rows(Range group, const float* rows, Index stride);
  void add_rows(float* mean);
  void fold_slices(float* mean);
  void share_slices(float* mean);

  Shard shard_;
  Index columns_;
  BlockTree tree_;
  Index absorbed_ = 0;       ///< number of this shard's workers absorbed so far
  Buffer<double> nodes_;     ///< [nodes][columns]: the current roots of the tree and the open block, between groups
  Buffer<double> gathered_;  ///< [nodes of all ranks][slice]; empty with a single rank
  Buffer<BlockTree::Merge> merges_;
  Index root_ = 0;                      ///< the node that holds the total after the merges
  Buffer<float> rows_;                  ///< [own workers][columns], if rows are sent
  Buffer<float> arrived_;               ///< [workers][slice], if rows are sent
  std::unique_ptr<DenseSum> of_slice_;  ///< sums the rows that arrived; null if shards hold whole blocks
};

}  // namespace onebit::device
