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

/// Writes the file, replacing an existing one. Columns have at least one row, and all the same number. The root gets
/// the attributes format and format_version, each dataset units and doc. On return the file is on disk and has been
/// read back; if that fails, it is removed. Throws ConfigError (path), IoError.
void write_table(const std::string& path, std::string_view format, Index version,
                 const std::vector<TableColumn>& columns);

}  // namespace onebit::sim
