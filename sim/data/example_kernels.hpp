#pragma once
// Kernels that copy rows from a table of examples.

#include <cstdint>

#include "device/launch/lanes.hpp"

namespace onebit::sim {

/// Copies rows: out[row] = the features of example examples[row].
struct FloatExamplesKernel {
  const std::uint32_t* examples;
  const float* table;  ///< features, [all examples][features]
  Index features;
  float* out;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    out[row * features + i] = table[Index{examples[row]} * features + i];
  }
};

/// Copies rows from features that are stored as bytes: out[row] = the features of example examples[row]. `values`
/// contains the value that each byte stands for in each channel.
struct ByteExamplesKernel {
  const std::uint32_t* examples;
  const std::uint8_t* table;  ///< features as bytes, [all examples][features]
  const float* values;        ///< values of the bytes, [channels][256]
  Index features, part;       ///< number of features of an example, and of one of its channels
  float* out;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const std::uint8_t byte = table[Index{examples[row]} * features + i];
    out[row * features + i] = values[device::run_of(i, part) * 256 + byte];
  }
};

}  // namespace onebit::sim
