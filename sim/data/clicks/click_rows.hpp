#pragma once
// Memory for the examples that a click generator makes.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/data/clicks/tables.hpp"
#include "sim/data/features/dense.hpp"

namespace onebit::sim {

/// Features, bags and labels of config.examples examples, to be filled in.
class ClickRows {
 public:
  /// Makes room for the examples. Throws ConfigError if a number is out of range, if the examples take too much memory,
  /// or if paths are given. row_bytes: bytes that the generator keeps for each row of a table.
  ClickRows(const std::string& name, const DataConfig& config, Index slots, Index row_bytes);

  const std::vector<BagTable>& tables() const { return made_.facts.tables; }
  Index features() const { return made_.facts.features; }

  std::span<float> features(Index example);
  std::span<std::int32_t> bags(Index example);
  std::int32_t& label(Index example) { return made_.labels[static_cast<std::size_t>(example)]; }

  /// Moves the examples out, together with their hash and a line that describes them.
  DenseExamples examples();

 private:
  DenseExamples made_;
  std::vector<float> values_;
};

}  // namespace onebit::sim
