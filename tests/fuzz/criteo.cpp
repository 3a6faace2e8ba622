#include <cmath>
#include <string_view>

#include "sim/data/clicks/criteo.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

ONEBIT_FUZZ(criteo, input) {
  sim::CriteoExamples examples;
  const auto size = static_cast<std::size_t>(1 + input.byte());
  const Index most = input.byte() / 16, rows = 2 + input.byte();
  sim::CriteoParser parser("FILE", rows, most, examples);
  const sim::Bytes file = input.file();
  for (std::string_view rest = file.text(); !rest.empty() && !parser.done();) {
    const std::string_view piece = rest.substr(0, size);
    const std::size_t used = parser.feed(piece);
    fuzz::require(used == piece.size() || parser.done());
    rest.remove_prefix(used);
  }
  const Index count = parser.finish();
  fuzz::require(most == 0 || count <= most);
  fuzz::require(count == static_cast<Index>(examples.labels.size()));
  fuzz::require(count * sim::criteo_numbers == static_cast<Index>(examples.features.size()));
  fuzz::require(count * sim::criteo_categories == static_cast<Index>(examples.bags.size()));
  for (const std::int32_t label : examples.labels) fuzz::require(label == 0 || label == 1);
  for (const float value : examples.features) fuzz::require(std::isfinite(value) && value >= 0);
  for (const std::int32_t row : examples.bags) fuzz::require(row >= 0 && row < rows);
}
