#pragma once
// All examples of a source in a device's memory: a batch is then a list of example numbers, and its features need not
// be copied to the device in every step.

#include <optional>
#include <span>

#include "device/memory/buffer.hpp"
#include "sim/data/data.hpp"

namespace onebit::sim {

class ExampleTable {
 public:
  /// Size above which sources stay on the host.
  static constexpr Index kMostBytes = Index{2} << 30;

  /// Makes a table if the source has features and they fit. On a device that plans it holds nothing.
  static std::optional<ExampleTable> of(const device::Device& device, const DataSource& data);

  /// Sets batch.on_device to the features of batch.examples, which stay there until the next call.
  void place(const device::Device& device, Batch& batch);

 private:
  Index features_ = 0;
  device::Buffer<float> floats_;        ///< [examples][features], unless they are bytes
  device::Buffer<std::uint8_t> bytes_;  ///< [examples][features], if they are bytes
  device::Buffer<float> values_;        ///< [channels][256], of the bytes
  device::Buffer<std::uint32_t> chosen_;
  device::Buffer<float> batch_;
};

}  // namespace onebit::sim
