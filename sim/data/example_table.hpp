#pragma once
// All examples of a source in a device's memory. A batch is then a list of example numbers, and no features are copied
// to the device in a step.

#include <optional>
#include <span>

#include "device/memory/buffer.hpp"
#include "sim/data/data.hpp"

namespace onebit::sim {

class ExampleTable {
 public:
  /// Size in bytes above which the examples of a source stay on the host.
  static constexpr Index kMostBytes = Index{2} << 30;

  /// Makes a table if the source has features and they are not too large. On a device that only counts memory, the
  /// table has no values.
  static std::optional<ExampleTable> of(const device::Device& device, const DataSource& data);

  /// Sets batch.on_device to the features of batch.examples, which stay there until the next call.
  void place(const device::Device& device, Batch& batch);

 private:
  Index features_ = 0;
  device::Buffer<float> floats_;        ///< features [examples][features], unless they are bytes
  device::Buffer<std::uint8_t> bytes_;  ///< features [examples][features], if they are bytes
  device::Buffer<float> values_;        ///< values that bytes stand for, [channels][256]
  device::Buffer<std::uint32_t> chosen_;
  device::Buffer<float> batch_;
};

}  // namespace onebit::sim
