#pragma once
// Fills buffers on the device with random numbers, as inputs for measurements.

#include "device/launch/launch.hpp"
#include "device/math/philox.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::device {

/// Fills an array with uniform numbers on [low, 1); if low > 0, the largest may be rounded to 1.
struct FillKernel {
  RandomKey key;
  float low;
  float* values;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { values[i] = low + (1 - low) * uniform(key, {.element = i}); }
};

inline Buffer<float> random_floats(const Device& device, Index size, std::uint32_t seed, float low = -1) {
  Buffer<float> buffer(device, size);
  for_each(device, size, FillKernel{{seed, Purpose::data}, low, buffer.data()});
  return buffer;
}

}  // namespace onebit::device
