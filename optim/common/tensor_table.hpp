#pragma once
// The tensors of a parameter vector on a device, as update kernels walk over them.

#include "device/launch/chunks.hpp"
#include "optim/config.hpp"
#include "optim/adam/adam_kernels.hpp"

namespace onebit::optim {

/// Where each tensor begins and how much its weights decay. Throws ConfigError for a pattern of config.no_decay that
/// fits no tensor.
std::vector<TensorRule> tensor_rules(const Problem& problem, const OptimizerConfig& config);

class TensorTable {
 public:
  TensorTable(const Problem& problem, const OptimizerConfig& config);

  /// A segment per tensor.
  const device::Chunks& chunks() const { return chunks_; }
  /// [tensors], in device memory.
  const TensorRule* rules() const { return rules_.data(); }

 private:
  device::Chunks chunks_;
  device::Buffer<TensorRule> rules_;
};

}  // namespace onebit::optim
