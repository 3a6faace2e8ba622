#pragma once
// A table as an HDF5 file: a dataset for each column.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::sim {

struct TableColumn {
  std::string name;
  std::string units;  ///< "1": a pure number or a count; empty: not a number
  std::string doc;
  std::variant<std::vector<std::string>, std::vector<Index>, std::vector<double>> values;
};

/// Writes the file, replacing one that is there. Columns have at least one row, all the same number. The root has the
/// attributes format and format_version, each dataset units and doc. It is on the disk and has been read back then;
/// where that fails it is removed. Throws ConfigError (path), IoError.
void write_table(const std::string& path, std::string_view format, Index version,
                 const std::vector<TableColumn>& columns);

}  // namespace onebit::sim
