#pragma once
// The order in which blocks of workers are summed. Block b is leaf b of a binary tree whose inner nodes join the
// siblings 2k and 2k+1 of a level; what is left over at the end is joined from the right. The order depends on the
// number of blocks alone, not on which shard holds them.

#include <vector>

#include "device/base/types.hpp"

namespace onebit::device {

/// The part of the tree over the blocks of one shard, as a stack: a complete block is pushed, then the two top nodes
/// are joined as long as they are siblings.
struct BlockTree {
  /// Workers in a block.
  static constexpr Index kBlock = 4;

  Index first = 0;  ///< first block of the shard
  Index end = 0;    ///< one past the last

  /// nodes[target] += nodes[source], element by element.
  struct Merge {
    Index target = 0;
    Index source = 0;
  };

  /// How often the stack's two top nodes are joined after block `block` was pushed.
  ONEBIT_HOST_DEVICE Index merges_after(Index block) const {
    Index merges = 0;
    for (Index node = block; node % 2 != 0 && ((node - 1) << merges) >= first; node /= 2) ++merges;
    return merges;
  }

  /// Nodes on the stack after the shard's first `blocks` blocks.
  Index nodes_after(Index blocks) const;

  /// The most nodes on the stack at any time, an open block included.
  Index most_nodes() const;

  /// How the nodes that the shards are left with, numbered in rank order, are joined to one: the merges in order, and
  /// the number of the node that holds the total.
  struct Plan {
    std::vector<Merge> merges;
    Index root = 0;
  };
  static Plan join(const std::vector<BlockTree>& shards);
};

}  // namespace onebit::device
