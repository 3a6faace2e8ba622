#include "sim/data/example_table.hpp"

#include <algorithm>

#include "device/launch/launch.hpp"
#include "device/memory/grow.hpp"
#include "sim/data/example_kernels.hpp"
#include "sim/data/features/dense.hpp"

namespace onebit::sim {
namespace {

/// Makes a table of all examples, each read by read(example, row), and copies some at a time. On a device that only
/// counts memory, reads none.
template <class T, class Read>
device::Buffer<T> table_of(const device::Device& device, Index examples, Index features, const Read& read) {
  constexpr Index piece = Index{4} << 20;
  const Index together = std::max<Index>(1, piece / features);
  device::Buffer<T> table(device, examples * features);
  std::vector<T> rows;
  for (Index first = 0; first < examples && !device.plans(); first += together) {
    const Index count = std::min(together, examples - first);
    rows.resize(static_cast<std::size_t>(count * features));
    for (Index row = 0; row < count; ++row) {
      read(first + row,
           std::span(rows).subspan(static_cast<std::size_t>(row * features), static_cast<std::size_t>(features)));
    }
    table.upload(rows, first * features);
  }
  return table;
}

}  // namespace

std::optional<ExampleTable> ExampleTable::of(const device::Device& device, const DataSource& data) {
  if (data.rows() == nullptr || data.feature_count() == 0) return std::nullopt;
  const std::vector<float> values = data.rows()->values();
  const Index examples = data.train_size() + data.holdout_size();
  const auto width = static_cast<Index>(values.empty() ? sizeof(float) : 1);
  if (examples > kMostBytes / (data.feature_count() * width)) return std::nullopt;
  ExampleTable table;
  table.features_ = data.feature_count();
  table.values_ = device::Buffer<float>::copy_of(device, values);
  const FeatureRows& rows = *data.rows();
  if (values.empty()) {
    table.floats_ =
        table_of<float>(device, examples, table.features_, [&](Index example, auto row) { rows.read(example, row); });
  } else {
    table.bytes_ = table_of<std::uint8_t>(device, examples, table.features_,
                                          [&](Index example, auto row) { rows.read_bytes(example, row); });
  }
  return table;
}

void ExampleTable::place(const device::Device& device, Batch& batch) {
  const auto rows = static_cast<Index>(batch.examples.size());
  grow(chosen_, device, rows);
  grow(batch_, device, rows * features_);
  chosen_.upload(batch.examples);
  if (values_.size() > 0) {
    const Index part = features_ / (values_.size() / 256);
    for_each_row(device, rows, features_,
                 ByteExamplesKernel{chosen_.data(), bytes_.data(), values_.data(), features_, part, batch_.data()});
  } else {
    for_each_row(device, rows, features_,
                 FloatExamplesKernel{chosen_.data(), floats_.data(), features_, batch_.data()});
  }
  batch.on_device = batch_.data();
}

}  // namespace onebit::sim
