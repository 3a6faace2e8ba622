#pragma once
// A log as tables that other tools read: CSV, or one JSON object per line.

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/log/reader.hpp"

namespace onebit::experiments {

/// One column of an exported table. It contains strings if `texts` has any, otherwise numbers.
struct ExportColumn {
  std::string name;
  bool whole = false;  ///< whether the numbers are integers
  std::vector<double> numbers = {};
  std::vector<std::string> texts = {};
};

/// Committed rows of a group, in columns of equal length. A row of /workers or /tensors becomes one row per worker or
/// tensor, with a column that identifies it.
struct ExportTable {
  std::string group;
  std::vector<ExportColumn> columns;
  std::size_t rows() const;
};

/// Returns the table of a group of the log, including columns of numbers that this version does not know. Throws what
/// LogReader throws.
ExportTable export_table(const sim::LogReader& log, const std::string& group);

/// Returns the group's unknown columns that are not in its table because they contain strings or lists.
std::vector<std::string> columns_left_out(const sim::LogReader& log, const ExportTable& table);

/// Returns the groups that the log has and that can be exported.
std::vector<std::string> exported_groups(const sim::LogReader& log);

/// Writes a line of names, then one line per row. A value that does not apply is an empty field. Texts with commas,
/// quotes or line ends are quoted (RFC 4180).
void write_csv(const ExportTable& table, std::ostream& out);

/// Writes one JSON object per row, with the member "group". A value that does not apply is null.
void write_json_lines(const ExportTable& table, std::ostream& out);

}  // namespace onebit::experiments
