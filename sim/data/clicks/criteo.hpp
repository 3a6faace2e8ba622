#pragma once
// Text files in the format of Criteo's click logs.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/data/data.hpp"

namespace onebit::sim {

inline constexpr Index criteo_numbers = 13;
inline constexpr Index criteo_categories = 26;

/// Reads lines of 40 fields separated by tabs: a label (0 or 1), 13 whole numbers, and 26 categories of 1 to 16
/// hexadecimal digits. A number or category may be missing (an empty field). A line may end with CR LF, and empty lines
/// are skipped. Files are plain or gzipped; several are concatenated.
///
/// Feature x becomes log(1 + max(x, 0)); a missing one is 0. Each category has a table of config.max_rows rows: a
/// missing category is row 0, any other is row 1 + h mod (max_rows - 1), where h is the FNV-1a hash (64 bits) of the
/// field's text. Different categories may therefore share a row. Features are NOT standardised unless
/// config.standardise is `yes`.
///
/// Only the first config.examples examples of the training files are read, unless that number is 0; the rest of the
/// files is ignored. Examples stay in the order of the files, which is chronological. Unless there are test files, the
/// last examples (a share of config.holdout) are held out. The hash covers the unpacked bytes that were read, and
/// config.max_rows, which decides the row numbers of categories. Throws ConfigError naming file, line and reason for
/// anything damaged, and for files that are too large.
std::unique_ptr<DataSource> make_criteo(const DataConfig& config);

struct CriteoExamples {
  std::vector<float> features;     ///< [examples x criteo_numbers]
  std::vector<std::int32_t> bags;  ///< [examples x criteo_categories]
  std::vector<std::int32_t> labels;
  Index missing = 0;  ///< number of empty fields
};

/// Parses a file, which is fed to it in pieces of any size.
class CriteoParser {
 public:
  /// Makes a parser that adds what it reads to `examples`. most: maximum number of examples to read; 0: all. rows:
  /// number of rows of a table.
  CriteoParser(std::string name, Index rows, Index most, CriteoExamples& examples);

  /// Parses the next piece. Returns the number of bytes used, which is less than the size of the piece if enough
  /// examples have been read.
  std::size_t feed(std::string_view text);
  /// Finishes the file. Returns the number of examples in it.
  Index finish();

  bool done() const { return most_ > 0 && count_ == most_; }

 private:
  void end_line(std::string_view line);
  float feature(std::string_view field, Index number) const;
  std::int32_t row(std::string_view field, Index number) const;
  /// Makes room for more examples. Throws ConfigError if the memory does not suffice.
  void grow();
  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse(const std::string& wanted, Index number, std::string_view field) const;

  std::string name_;
  Index rows_, most_;
  CriteoExamples& examples_;
  Index count_ = 0, line_ = 1;
  std::string rest_;  // beginning of the current line
};

}  // namespace onebit::sim
