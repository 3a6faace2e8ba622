#pragma once
// Text files in the format of LIBSVM's data page: a label and the features that are not zero, one example per line.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/data/data.hpp"
#include "sim/data/features/sparse_rows.hpp"

namespace onebit::sim {

/// Largest feature index. It is limited because a batch contains rows with all features.
inline constexpr Index libsvm_features = Index{1} << 24;

/// Reads lines "label index:value index:value ..." with increasing indices that start at 1, separated by spaces and
/// tabs. '#' begins a comment, empty lines are skipped, and a line may end with CR LF. Files are plain or gzipped.
/// config.paths names one file, config.test one or none.
///
/// Labels are numbers; the classes are the different labels of both files, in ascending order. The number of features
/// is the largest index in both files, or config.features if that is larger. Rows are stored sparse. Values are NOT
/// standardised unless config.standardise is `yes`, because published optima are for raw features. The hash covers the
/// unpacked bytes of both files. Throws ConfigError naming file, offset, line and reason for anything damaged, more
/// than 65,536 classes, an index beyond libsvm_features or a file beyond 8 GiB.
std::unique_ptr<DataSource> make_libsvm(const DataConfig& config);

struct LibsvmExamples {
  SparseMatrix rows;
  std::vector<double> labels;  ///< labels as in the file, finite
  Index features = 0;          ///< largest index
};

/// Parses a file, which is fed to it in pieces of any size, and adds its examples to a LibsvmExamples. Between pieces,
/// the parser keeps none of the file's text except an unfinished word at the end of the last piece. Throws ConfigError
/// naming file, offset, line and reason.
class LibsvmParser {
 public:
  LibsvmParser(std::string name, LibsvmExamples& examples);

  void feed(std::string_view text);
  /// Finishes the file. Returns the number of examples in it.
  Index finish();

 private:
  void end_line();
  void end_word();
  void add_value();
  /// Parses all of `text`, which is a part of the current word, as one finite float.
  double number(std::string_view text, const char* what) const;
  /// Reads a feature's index, from 1 to libsvm_features.
  Index index_of(std::string_view text) const;
  [[noreturn]] void refuse(const std::string& what, std::string_view text) const;

  std::string name_;
  LibsvmExamples& examples_;
  Index first_;                  // number of examples of other files
  Index offset_ = 0, line_ = 1;  // place after the word
  std::string word_;             // beginning of the current word
  bool has_label_ = false, in_comment_ = false;
  Index before_ = 0;  // last index of the line
};

}  // namespace onebit::sim
