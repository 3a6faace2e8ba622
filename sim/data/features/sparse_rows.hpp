#pragma once
// Sparse features.

#include <vector>

#include "sim/data/features/dense.hpp"

namespace onebit::sim {

/// Rows in compressed form (CSR): example i has columns and values [starts[i], starts[i + 1]).
struct SparseMatrix {
  std::vector<Index> starts = {0};
  std::vector<std::uint32_t> columns = {};  ///< increasing within a row
  std::vector<float> values = {};
};

/// Returns rows that are expanded to all columns when they are read. Columns must be below the number of features.
std::unique_ptr<FeatureRows> sparse_rows(SparseMatrix matrix);

}  // namespace onebit::sim
