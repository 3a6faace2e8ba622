#pragma once
// Lists the table rows that a batch touches, so that each row's gradient is summed once, in a fixed order.

#include <span>
#include <vector>

#include "sim/layers/recommender/bag_kernels.hpp"

namespace onebit::sim {

/// The touched rows, table by table in ascending order, and for each row the examples whose bags contain it.
struct RowLists {
  std::vector<TouchedRow> rows;
  std::vector<std::int32_t> examples;

  /// Makes the lists of bags [examples][slots]. An example is listed as often as its bag contains the row; a row's
  /// examples are in ascending order. Pooled vectors are [parts][tables][width].
  void list(std::span<const std::int32_t> bags, std::span<const TablePlace> tables, Index parts, Index width);

 private:
  struct Entry {
    std::int32_t row = 0;
    std::int32_t example = 0;
  };
  void sort(Index table_rows);

  std::vector<Entry> entries_, sorted_;  ///< entries of one table
};

}  // namespace onebit::sim
