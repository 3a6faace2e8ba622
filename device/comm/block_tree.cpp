#include "device/comm/block_tree.hpp"

#include <algorithm>

namespace onebit::device {

/// Counts level by level: a node at either end of the blocks that has no sibling stays on the stack.
Index BlockTree::nodes_after(Index blocks) const {
  Index nodes = 0;
  for (Index from = first, to = first + blocks; from < to; from = ceil_div(from, 2), to /= 2) {
    nodes += from % 2 + to % 2;
  }
  return nodes;
}

Index BlockTree::most_nodes() const {
  Index nodes = 0, most = 0;
  for (Index block = first; block < end; ++block) {
    most = std::max(most, ++nodes);
    nodes -= merges_after(block);
  }
  return most;
}

BlockTree::Plan BlockTree::join(const std::vector<BlockTree>& shards) {
  struct Node {
    Index level, place, number;
  };
  std::vector<Node> stack;
  Plan plan;
  const auto merge_top = [&] {
    plan.merges.push_back({stack[stack.size() - 2].number, stack.back().number});
    stack.pop_back();
  };
  const auto siblings_on_top = [&] {
    if (stack.size() < 2) return false;
    const Node &left = stack[stack.size() - 2], &right = stack.back();
    return left.level == right.level && left.place % 2 == 0 && right.place == left.place + 1;
  };
  Index number = 0;
  for (const BlockTree& shard : shards) {
    // The shard's own stack; its nodes get their numbers below.
    std::vector<Node> nodes;
    for (Index block = shard.first; block < shard.end; ++block) {
      nodes.push_back({0, block, 0});
      for (Index merges = shard.merges_after(block); merges > 0; --merges) {
        nodes.pop_back();
        nodes.back() = {nodes.back().level + 1, nodes.back().place / 2, 0};
      }
    }
    for (const Node& node : nodes) {
      stack.push_back({node.level, node.place, number++});
      while (siblings_on_top()) {
        merge_top();
        stack.back() = {stack.back().level + 1, stack.back().place / 2, stack.back().number};
      }
    }
  }
  while (stack.size() > 1) merge_top();
  plan.root = stack.back().number;
  return plan;
}

}  // namespace onebit::device
