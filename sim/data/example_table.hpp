#pragma once
// All examples of a source in a device's memory: a batch is then a list of numbers, and its features do not cross to
// the device in every step.

#include <optional>
#include <span>

#include "device/memory/buffer.hpp"
#include "sim/data/data.hpp"

namespace onebit::sim {

class ExampleTable {
 public:
  /// Larger sources stay on the host.
  static constexpr Index kMostBytes = Index{2} << 30;

  /// A table where the source has features and they fit. On a device that plans it holds nothing.
  static std::optional<ExampleTable> of(const device::Device& device, const DataSource& data);

  /// Sets batch.on_device to the features of batch.examples, which lie there until the next call.
  void place(const device::Device& device, Batch& batch);

 private:
  Index features_ = 0;
  device::Buffer<float> floats_;        ///< [examples][features], or
  device::Buffer<std::uint8_t> bytes_;  ///< the same, and
  device::Buffer<float> values_;        ///< [channels][256] of them
  device::Buffer<std::uint32_t> chosen_;
  device::Buffer<float> batch_;
};

}  // namespace onebit::sim
