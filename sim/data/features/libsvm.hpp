#pragma once
// Text files in the format of LIBSVM's data page: a label and the features that are not zero, one example per line.

#include <memory>
#include <vector>

#include "sim/data/data.hpp"
#include "sim/data/features/sparse_rows.hpp"
#include "sim/data/files/bytes.hpp"

namespace onebit::sim {

/// Largest feature index. It is limited because a batch holds rows with all features.
inline constexpr Index libsvm_features = Index{1} << 24;

/// Reads lines "label index:value index:value ..." with increasing indices that start at 1, separated by spaces and
/// tabs. '#' begins a comment, empty lines are skipped, and a line may end with CR LF. Files are plain or gzipped.
/// config.paths names one file, config.test one or none.
///
/// Labels are numbers; the classes are the different labels of both files, in ascending order. There are as many
/// features as the largest index of both files, or config.features if that is larger. Rows are stored sparse. Values
/// are NOT standardised unless config.standardise is `yes`, because published optima are those of the raw features. The
/// hash covers the unpacked bytes of both files. Throws ConfigError naming file, offset, line and reason for anything
/// damaged, more than 65,536 classes, an index beyond libsvm_features or a file beyond 8 GiB.
std::unique_ptr<DataSource> make_libsvm(const DataConfig& config);

struct LibsvmExamples {
  SparseMatrix rows;
  std::vector<double> labels;  ///< labels as in the file, finite
  Index features = 0;          ///< largest index
};

/// Adds the examples of a file. Returns their number.
Index parse_libsvm(const Bytes& bytes, LibsvmExamples& examples);

}  // namespace onebit::sim
