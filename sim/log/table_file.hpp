#pragma once
// Writes a table as an HDF5 file with one dataset per column.

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::sim {

struct TableColumn {
  std::string name;
  std::string units;  ///< "1" for pure numbers or counts; empty if the values are not numbers
  std::string doc;
  std::variant<std::vector<std::string>, std::vector<Index>, std::vector<double>> values;
};

/// Creates the file as create_part() does, under a temporary name, and writes it. All columns must have the same number
/// of rows, at least one. The root gets the attributes format and format_version; each dataset gets units and doc. On
/// return the file is on disk and has been read back; if anything fails, it is removed. Throws ConfigError if the file
/// cannot be created, IoError if writing fails.
void write_table(const std::string& path, std::string_view format, Index version,
                 const std::vector<TableColumn>& columns);

}  // namespace onebit::sim
