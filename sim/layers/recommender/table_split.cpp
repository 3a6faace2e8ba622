#include "sim/layers/recommender/table_split.hpp"

#include "device/base/error.hpp"
#include "sim/layers/recommender/bag_kernels.hpp"

namespace onebit::sim {
void require_shares(Index workers, Index items, const char* what, const char* hint) {
  if (workers <= items) return;
  throw ConfigError("there are more workers than " + std::string(what),
                    "workers " + std::to_string(workers) + ", " + std::to_string(items) + " " + what, hint);
}

TableSplit parse_table_split(const std::string& name) {
  if (name == "table") return TableSplit::table;
  if (name == "row") return TableSplit::row;
  if (name == "column") return TableSplit::column;
  throw ConfigError("unknown split of the tables", "tables.split " + name, "table, row or column");
}

SendingColumns senders_of(TableSplit split, Index workers, Index tables, Index width) {
  const Index pooled = tables * width;
  if (split == TableSplit::row) {
    SendingColumns blocks = SendingColumns::blocks(workers, pooled);
    blocks.receivers_send = true;
    return blocks;
  }
  SendingColumns result{.senders = workers, .receivers_send = true};
  const bool whole = split == TableSplit::table;
  require_shares(
      workers, whole ? tables : width, whole ? "tables" : "columns in a table",
      whole ? "use fewer workers, or --tables.split row or column" : "use fewer workers, or --tables.split row");
  result.columns.resize(static_cast<std::size_t>(pooled));
  Index start = 0;
  for (Index worker = 0; worker < workers; ++worker) {
    const Range own_tables = whole ? share_of(tables, workers, worker) : Range{0, tables};
    const Range own = whole ? Range{0, width} : share_of(width, workers, worker);
    const Index columns = own_tables.count * own.count;
    Index rank = 0;
    for (Index table = own_tables.first; table < own_tables.end(); ++table) {
      for (Index c = own.first; c < own.end(); ++c) {
        result.columns[static_cast<std::size_t>(table * width + c)] = {worker, rank++, columns, start};
      }
    }
    start += columns;
  }
  return result;
}

std::vector<Index> elements_owned(TableSplit split, Index workers, const std::vector<BagTable>& tables, Index width) {
  std::vector<Index> owned(static_cast<std::size_t>(workers));
  for (Index worker = 0; worker < workers; ++worker) {
    Index& own = owned[static_cast<std::size_t>(worker)];
    const Range whole = share_of(std::ssize(tables), workers, worker);
    for (Index t = 0; t < std::ssize(tables); ++t) {
      const Index rows = tables[static_cast<std::size_t>(t)].rows;
      if (split == TableSplit::row)
        own += (ceil_div(rows * (worker + 1), workers) - ceil_div(rows * worker, workers)) * width;
      if (split == TableSplit::column) own += rows * share_of(width, workers, worker).count;
      if (split == TableSplit::table && t >= whole.first && t < whole.end()) own += rows * width;
    }
  }
  return owned;
}

void check_capacity(const TablesConfig& config, const std::vector<Index>& owned, Index width, const std::string& hint) {
  if (config.capacity == 0) return;
  const Index row_bytes = config.optimizer == "adagrad" ? Index{sizeof(float)} : Index{0};
  for (std::size_t worker = 0; worker < owned.size(); ++worker) {
    const Index bytes = owned[worker] * Index{sizeof(float)} + ceil_div(owned[worker], width) * row_bytes;
    if (bytes <= config.capacity) continue;
    throw ConfigError("worker " + std::to_string(worker) + " would own " + std::to_string(bytes) + " bytes of tables",
                      "tables.split " + config.split + ", tables.capacity " + std::to_string(config.capacity), hint);
  }
}

}  // namespace onebit::sim
