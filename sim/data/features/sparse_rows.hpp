#pragma once
// Features most of which are zero.

#include <vector>

#include "sim/data/features/dense.hpp"

namespace onebit::sim {

/// Rows in compressed form: those of example i are columns and values [starts[i], starts[i + 1]).
struct SparseMatrix {
  std::vector<Index> starts = {0};
  std::vector<std::uint32_t> columns = {};  ///< increasing within a row
  std::vector<float> values = {};
};

/// Rows with all columns, made when they are read. Columns are below `features`.
std::unique_ptr<FeatureRows> sparse_rows(SparseMatrix matrix);

}  // namespace onebit::sim
