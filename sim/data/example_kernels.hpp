#pragma once
// Rows of a table of examples.

#include <cstdint>

#include "device/launch/lanes.hpp"

namespace onebit::sim {

/// out[row] = the features of example examples[row].
struct FloatExamplesKernel {
  const std::uint32_t* examples;
  const float* table;  ///< [all examples][features]
  Index features;
  float* out;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    out[row * features + i] = table[Index{examples[row]} * features + i];
  }
};

/// The same for features stored as bytes, each of which stands for a value in its channel.
struct ByteExamplesKernel {
  const std::uint32_t* examples;
  const std::uint8_t* table;  ///< [all examples][features]
  const float* values;        ///< [channels][256]
  Index features, part;       ///< of an example, and of one of its channels
  float* out;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const std::uint8_t byte = table[Index{examples[row]} * features + i];
    out[row * features + i] = values[device::run_of(i, part) * 256 + byte];
  }
};

}  // namespace onebit::sim
