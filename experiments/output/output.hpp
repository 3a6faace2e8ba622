#pragma once
// Output of the program: aligned tables for people, or one JSON object for other programs.

#include <iosfwd>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/base/text.hpp"

namespace onebit::experiments {

/// A table with a header row. Text columns, by default only the first, are left-aligned; the others are right-aligned.
/// A row of one cell is a heading, which may be wider than its column. On a terminal that is too narrow, the last
/// columns are left out and named below, and long texts continue on further lines. The columns that matter most should
/// therefore come first.
class Table {
 public:
  explicit Table(const std::vector<std::string>& header, std::size_t text_columns = 1) : text_columns_(text_columns) {
    add(header);
  }
  /// Adds a row; its cells are made printable().
  void add(const std::vector<std::string>& row);
  /// Colours the row that was added last as the best one.
  void mark_best() { best_ = rows_.size() - 1; }
  void print(std::ostream& out) const;

  bool empty() const { return rows_.size() < 2; }                              ///< whether the header is the only row
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }  ///< all rows, the header first
  std::size_t text_columns() const { return text_columns_; }
  /// Returns the width of a line with all columns, in characters.
  std::size_t width() const;

 private:
  std::vector<std::size_t> widths() const;
  std::vector<std::size_t> fitted_widths(std::size_t room) const;
  void print_row(const std::vector<std::string>& row, const std::vector<std::size_t>& widths, std::ostream& out) const;

  std::vector<std::vector<std::string>> rows_;
  std::size_t text_columns_;
  std::size_t best_ = 0;  ///< index in rows_; 0: no row is the best
};

/// A JSON value built as text.
class Json {
 public:
  static Json object(const std::vector<std::pair<std::string, Json>>& members);
  static Json array(const std::vector<Json>& items);
  static Json texts(const std::vector<std::string>& items);
  static Json boolean(bool value);
  /// Returns a number with `digits` significant digits; null if it is not finite.
  static Json rounded(double value, int digits);
  /// Returns the object with one more member.
  Json with(const std::string& key, const Json& value) const;
  Json(const std::string& text);                       // NOLINT(google-explicit-constructor): values read like literals
  Json(const char* text) : Json(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Json(double value);                                  // NOLINT(google-explicit-constructor): null if it is not finite
  Json(long value);                                    // NOLINT(google-explicit-constructor)
  const std::string& text() const { return text_; }

 private:
  Json() = default;
  std::string text_;
};

/// Returns a value with one member or item per line, for people who read it and for tools that show differences.
std::string indented(const Json& json);

/// Formats a time in a suitable unit, e.g. "4.07 ms".
std::string seconds_text(double seconds);
/// Formats the times of one column of a table, all in the unit that suits the longest.
std::vector<std::string> seconds_texts(std::span<const double> seconds);
/// Formats a ratio, e.g. "5.66x".
std::string ratio_text(double ratio);

}  // namespace onebit::experiments
