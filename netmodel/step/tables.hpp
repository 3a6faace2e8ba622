#pragma once
// Embedding tables of a recommendation model, and how they are split over GPUs.

#include <vector>

#include "netmodel/cluster/fabric.hpp"

namespace onebit::netmodel {

/// Embedding tables. In each of them a sample looks up a bag of rows, which are added up (pooling). A sample's sums
/// from all tables, count x width numbers, are combined with the output of the dense layers' bottom part and passed on
/// to their top part.
struct EmbeddingTables {
  Index count = 0;               ///< number of tables; 0: the workload has none
  Index width = 0;               ///< numbers per row
  double ids = 1;                ///< rows per bag, mean over the tables
  double bottom_share = 0.5;     ///< share of the dense layers, by parameters and by time, in their bottom part
  std::vector<Index> rows = {};  ///< rows of each table; empty: not known

  Index total_rows() const;
};

/// Whether each GPU holds some tables, some rows of each table, or some columns of each. What is left over after an
/// even split goes to the first GPUs, one table, row or column each.
enum class TableSplit { table_wise, row_wise, column_wise };

/// The part of the tables that one GPU holds.
struct TableShare {
  double ids = 0;        ///< rows that a sample looks up there
  double values = 0;     ///< numbers of a sample's pooled rows there; with a row-wise split, sums of a part of the rows
  double row_bytes = 0;  ///< bytes of a row, or of its columns that the GPU holds
  double held_bytes = 0;  ///< bytes of its part of the tables; 0: not known
};

/// Returns the shares of all GPUs. Throws ConfigError for more GPUs than tables (table-wise) or columns (column-wise).
std::vector<TableShare> shares_of(const EmbeddingTables& tables, TableSplit split, Index gpus);

/// Returns the ratio of the largest to the mean number of values that a GPU sends (TableShare::values).
double imbalance(const std::vector<TableShare>& shares);

}  // namespace onebit::netmodel
