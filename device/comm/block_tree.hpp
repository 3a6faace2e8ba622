#pragma once
// The order in which blocks of workers are summed. Block b is leaf b of a binary tree whose inner nodes join the
// siblings 2k and 2k+1 of a level; the nodes that remain at the end are joined from the right. The order depends on the
// number of blocks alone, not on which shard holds them.

#include <vector>

#include "device/base/types.hpp"

namespace onebit::device {

/// The part of the tree that covers the blocks of one shard, kept as a stack: a complete block is pushed, then the two
/// top nodes are joined as long as they are siblings.
struct BlockTree {
  /// Number of workers in a block.
  static constexpr Index kBlock = 4;

  Index first = 0;  ///< first block of the shard
  Index end = 0;    ///< one past the last block of the shard

  /// nodes[target] += nodes[source], element by element.
  struct Merge {
    Index target = 0;
    Index source = 0;
  };

  /// Number of times that the stack's two top nodes are joined after block `block` is pushed.
  ONEBIT_HOST_DEVICE Index merges_after(Index block) const {
    Index merges = 0;
    for (Index node = block; node % 2 != 0 && ((node - 1) << merges) >= first; node /= 2) ++merges;
    return merges;
  }

  /// Number of nodes on the stack after the shard's first `blocks` blocks.
  Index nodes_after(Index blocks) const;

  /// Largest number of nodes on the stack at any time, including an open block.
  Index most_nodes() const;

  /// How to join the nodes that remain on the shards' stacks: the merges, in the order in which they are made, and the
  /// number of the node that then holds the total. Nodes are numbered in rank order.
  struct Plan {
    std::vector<Merge> merges;
    Index root = 0;
  };
  static Plan join(const std::vector<BlockTree>& shards);
};

}  // namespace onebit::device
