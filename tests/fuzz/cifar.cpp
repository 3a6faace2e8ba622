#include "sim/data/features/cifar.hpp"

#include <algorithm>

#include "sim/data/features/byte_rows.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

/// A record is longer than an input: two bytes give the size of the file, and the others are repeated to fill it.
ONEBIT_FUZZ(cifar, input) {
  const sim::CifarFormat format = input.byte() % 2 == 0 ? sim::cifar10 : sim::cifar100;
  const std::size_t high = input.byte(), low = input.byte();
  const std::size_t size = input.rest().empty() ? 0 : (high << 8 | low) % (3 * 3074 + 1);
  std::vector<std::uint8_t> content(size);
  std::size_t filled = std::min(input.rest().size(), size);
  std::copy_n(input.rest().data(), filled, content.data());
  for (std::size_t more = 0; filled < size; filled += more) {
    more = std::min(filled, size - filled);
    std::copy_n(content.data(), more, content.data() + filled);
  }
  const sim::Bytes file("FILE", content);
  const std::vector<std::int32_t> labels = sim::parse_cifar(file, format);
  const auto count = static_cast<Index>(labels.size());
  const Index record = format.label_bytes + sim::cifar_features;
  fuzz::require(count > 0 && count * record == file.size());
  for (const std::int32_t label : labels) fuzz::require(label >= 0 && label < format.classes);
  sim::ByteRows rows;
  rows.add(file, format.label_bytes, record, count);
  std::vector<float> row(static_cast<std::size_t>(sim::cifar_features));
  rows.read(count - 1, row);
  fuzz::require(row.front() >= 0 && row.back() <= 1);
}
