#include "netmodel/step/tables.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "device/base/error.hpp"

namespace onebit::netmodel {
namespace {

double as_double(Index value) {
  return static_cast<double>(value);
}

[[noreturn]] void refuse(Index gpus, Index parts, const std::string& what, const std::string& option,
                         const std::string& hint) {
  throw ConfigError(
      "more GPUs than " + what,
      std::to_string(gpus) + " GPUs, " + std::to_string(parts) + " " + what + ", --tables.split " + option, hint);
}

/// Returns the number of parts that a GPU holds if the first (parts mod gpus) GPUs hold one more.
Index part_of(Index parts, Index gpus, Index gpu) {
  return parts / gpus + (gpu < parts % gpus ? 1 : 0);
}

}  // namespace

Index EmbeddingTables::total_rows() const {
  return std::accumulate(rows.begin(), rows.end(), Index{0});
}

std::vector<TableShare> shares_of(const EmbeddingTables& tables, TableSplit split, Index gpus) {
  constexpr double number = sizeof(float);
  if (split == TableSplit::table_wise && gpus > tables.count)
    refuse(gpus, tables.count, "tables", "table", "use --tables.split row or column, or fewer GPUs");
  if (split == TableSplit::column_wise && gpus > tables.width)
    refuse(gpus, tables.width, "columns", "column", "use --tables.split row, or fewer GPUs");
  const double all_ids = as_double(tables.count) * tables.ids;
  std::vector<TableShare> shares;
  Index first = 0;  // table-wise: first table of the GPU
  for (Index gpu = 0; gpu < gpus; ++gpu) {
    if (split == TableSplit::row_wise) {
      const double row = number * as_double(tables.width);
      const double most_rows = std::transform_reduce(tables.rows.begin(), tables.rows.end(), 0.0, std::plus<>(),
                                                     [&](Index rows) { return as_double(part_of(rows, gpus, gpu)); });
      shares.push_back({all_ids / as_double(gpus), as_double(tables.count * tables.width), row, row * most_rows});
    } else if (split == TableSplit::column_wise) {
      const double columns = as_double(part_of(tables.width, gpus, gpu)), row = number * columns;
      shares.push_back({all_ids, as_double(tables.count) * columns, row, row * as_double(tables.total_rows())});
    } else {
      const Index own = part_of(tables.count, gpus, gpu);
      const double row = number * as_double(tables.width);
      Index rows = 0;
      for (Index table = first; table < first + own && !tables.rows.empty(); ++table) {
        rows += tables.rows[static_cast<std::size_t>(table)];
      }
      first += own;
      shares.push_back({as_double(own) * tables.ids, as_double(own * tables.width), row, row * as_double(rows)});
    }
  }
  return shares;
}

double imbalance(const std::vector<TableShare>& shares) {
  double most = 0, sum = 0;
  for (const TableShare& share : shares) {
    most = std::max(most, share.values);
    sum += share.values;
  }
  return most * static_cast<double>(shares.size()) / sum;
}

}  // namespace onebit::netmodel
