#pragma once
// A log as tables that other tools read: CSV, or one JSON object a line.

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/log/reader.hpp"

namespace onebit::experiments {

/// One column of an exported table: numbers, or texts where it has any.
struct ExportColumn {
  std::string name;
  bool whole = false;  ///< numbers are integers
  std::vector<double> numbers = {};
  std::vector<std::string> texts = {};
};

/// Committed rows of a group, columns of one length. Rows of /workers and /tensors become one row a worker or tensor,
/// with a column that says which.
struct ExportTable {
  std::string group;
  std::vector<ExportColumn> columns;
  std::size_t rows() const;
};

/// The table of a group of the log, with columns of numbers that this program does not know. Throws what LogReader
/// throws.
ExportTable export_table(const sim::LogReader& log, const std::string& group);

/// Columns of the group that this program does not know and that are not in its table, because they hold texts or
/// lists.
std::vector<std::string> columns_left_out(const sim::LogReader& log, const ExportTable& table);

/// Groups that the log has.
std::vector<std::string> exported_groups(const sim::LogReader& log);

/// A line of names, then a line a row; an empty field is a value that does not apply. Texts with commas, quotes or line
/// ends are quoted (RFC 4180).
void write_csv(const ExportTable& table, std::ostream& out);

/// A JSON object a row, with "group"; null is a value that does not apply.
void write_json_lines(const ExportTable& table, std::ostream& out);

}  // namespace onebit::experiments
