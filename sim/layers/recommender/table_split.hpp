#pragma once
// Which worker owns which part of the embedding tables (model parallelism).

#include <string>
#include <vector>

#include "sim/layers/boundary.hpp"

namespace onebit::sim {

/// How embedding tables are divided among the workers. `table`: every worker owns a contiguous range of whole tables;
/// of T tables, the first T mod N of the N workers own one more than the others. `row`: every worker owns a contiguous
/// range of the rows of every table, and sends, for each bag, the sum of the rows that it owns. `column`: every worker
/// owns a contiguous range of the columns of every table.
enum class TableSplit { table, row, column };

/// Returns the split with this name. Throws ConfigError for an unknown name.
TableSplit parse_table_split(const std::string& name);

/// Throws ConfigError with a hint if there are more workers than `items`, e.g. tables.
void require_shares(Index workers, Index items, const char* what, const char* hint);

/// Returns which worker sends which column of the pooled vectors, [tables x width] or, with TableSplit::row, [workers x
/// tables x width]. Throws ConfigError if the split `table` or `column` leaves a worker without a share; with `row`, a
/// worker may own no rows.
SendingColumns senders_of(TableSplit split, Index workers, Index tables, Index width);

/// Returns the number of elements of the tables that each worker owns, [workers].
std::vector<Index> elements_owned(TableSplit split, Index workers, const std::vector<BagTable>& tables, Index width);

/// Throws ConfigError with a hint if a worker would own more elements, in rows of `width`, than it can hold.
void check_capacity(const TablesConfig& config, const std::vector<Index>& owned, Index width, const std::string& hint);

}  // namespace onebit::sim
