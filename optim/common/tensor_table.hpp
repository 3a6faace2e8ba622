#pragma once
// The tensors of a parameter vector in device memory, for update kernels that iterate over them.

#include "device/launch/chunks.hpp"
#include "optim/adam/adam_kernels.hpp"
#include "optim/config.hpp"

namespace onebit::optim {

/// Offset and weight decay of each tensor. Throws ConfigError for a pattern of config.no_decay that matches no tensor.
std::vector<TensorRule> tensor_rules(const Problem& problem, const OptimizerConfig& config);

class TensorTable {
 public:
  TensorTable(const Problem& problem, const OptimizerConfig& config);

  /// Chunks of the parameter vector, one segment per tensor.
  const device::Chunks& chunks() const { return chunks_; }
  /// Rules [tensors] in device memory.
  const TensorRule* rules() const { return rules_.data(); }

 private:
  device::Chunks chunks_;
  device::Buffer<TensorRule> rules_;
};

}  // namespace onebit::optim
