#include "device/comm/block_tree.hpp"

#include <numeric>

#include "tests/catch.hpp"

using namespace onebit;
using namespace onebit::device;

namespace {

/// Runs the shards' stacks and the plan on texts: "(ab)" is the sum of a and b. Blocks are letters, beginning with A.
std::string order_of(const std::vector<Index>& shard_blocks) {
  std::vector<BlockTree> shards;
  std::vector<std::string> nodes;
  Index first = 0;
  for (const Index blocks : shard_blocks) {
    const BlockTree tree{first, first + blocks};
    std::vector<std::string> stack;
    Index most = 0;
    for (Index block = tree.first; block < tree.end; ++block) {
      stack.push_back(std::string(1, static_cast<char>('A' + block)));
      most = std::max(most, static_cast<Index>(stack.size()));
      for (Index merges = tree.merges_after(block); merges > 0; --merges) {
        const std::string top = stack.back();
        stack.pop_back();
        stack.back() = "(" + stack.back() + top + ")";
      }
      CHECK(tree.nodes_after(block + 1 - first) == static_cast<Index>(stack.size()));
    }
    CHECK(tree.most_nodes() == most);
    nodes.insert(nodes.end(), stack.begin(), stack.end());
    shards.push_back(tree);
    first += blocks;
  }
  const BlockTree::Plan plan = BlockTree::join(shards);
  CHECK(plan.merges.size() == nodes.size() - 1);
  for (const BlockTree::Merge& merge : plan.merges) {
    std::string& target = nodes[static_cast<std::size_t>(merge.target)];
    target = "(" + target + nodes[static_cast<std::size_t>(merge.source)] + ")";
  }
  return nodes[static_cast<std::size_t>(plan.root)];
}

}  // namespace

TEST_CASE("blocks are joined in pairs of siblings, what is left over from the right") {
  CHECK(order_of({1}) == "A");
  CHECK(order_of({2}) == "(AB)");
  CHECK(order_of({3}) == "((AB)C)");
  CHECK(order_of({4}) == "((AB)(CD))");
  CHECK(order_of({7}) == "(((AB)(CD))((EF)G))");
  CHECK(order_of({8}) == "(((AB)(CD))((EF)(GH)))");
}

TEST_CASE("the order does not depend on the shards") {
  for (Index blocks = 2; blocks <= 13; ++blocks) {
    const std::string whole = order_of({blocks});
    for (Index first = 1; first < blocks; ++first) {
      CHECK(order_of({first, blocks - first}) == whole);
      for (Index second = 1; second < blocks - first; ++second) {
        CAPTURE(blocks, first, second);
        CHECK(order_of({first, second, blocks - first - second}) == whole);
      }
    }
    CHECK(order_of(std::vector<Index>(static_cast<std::size_t>(blocks), 1)) == whole);
  }
}

TEST_CASE("the stack stays small") {
  CHECK((BlockTree{0, 1 << 14}.most_nodes()) == 15);
  CHECK((BlockTree{1, Index{1} << 50}.nodes_after((Index{1} << 50) - 1)) == 50);
  CHECK((BlockTree{1, 1 << 14}.most_nodes()) <= 28);
}
