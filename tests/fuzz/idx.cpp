#include "sim/data/features/idx.hpp"
#include "sim/data/features/byte_rows.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

/// Reads the first and the last image, or label.
ONEBIT_FUZZ(idx, input) {
  const Index dimensions = input.byte() % 2 == 0 ? 3 : 1;
  const sim::Bytes file = input.file();
  const sim::IdxLayout layout = sim::parse_idx(file, dimensions);
  Index features = 1;
  for (std::size_t i = 1; i < layout.sizes.size(); ++i) features *= layout.sizes[i];
  fuzz::require(layout.header + layout.sizes[0] * features == file.size());
  sim::ByteRows rows;
  rows.add(file, layout.header, features, layout.sizes[0]);
  std::vector<float> row(static_cast<std::size_t>(features));
  for (const Index example : {Index{0}, layout.sizes[0] - 1}) {
    rows.read(example, row);
    fuzz::require(row.front() >= 0 && row.back() <= 1);
  }
}
