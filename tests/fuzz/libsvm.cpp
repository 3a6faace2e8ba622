#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/data/features/libsvm.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

ONEBIT_FUZZ(libsvm, input) {
  sim::LibsvmExamples examples;
  sim::LibsvmParser parser("FILE", examples);
  const auto size = static_cast<std::size_t>(1 + input.byte());
  const sim::Bytes file = input.file();
  for (std::string_view rest = file.text(); !rest.empty(); rest.remove_prefix(std::min(size, rest.size())))
    parser.feed(rest.substr(0, size));
  const Index count = parser.finish();
  const sim::SparseMatrix& rows = examples.rows;
  fuzz::require(count == static_cast<Index>(examples.labels.size()) &&
                rows.starts.size() == examples.labels.size() + 1);
  fuzz::require(rows.columns.size() == rows.values.size());
  fuzz::require(rows.starts.back() == static_cast<Index>(rows.columns.size()));
  fuzz::require(examples.features >= 0 && examples.features <= sim::libsvm_features);
  for (const double label : examples.labels) fuzz::require(std::isfinite(label));
  for (const float value : rows.values) fuzz::require(std::isfinite(value));
  for (const std::uint32_t column : rows.columns) fuzz::require(static_cast<Index>(column) < examples.features);
  if (count == 0 || examples.features > 4096) return;
  std::vector<float> row(static_cast<std::size_t>(examples.features));
  sim::sparse_rows(rows)->read(count - 1, row);
}
