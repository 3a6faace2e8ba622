#pragma once
// Helpers for workers that each have their own row: sums over the rows, and weight decay per parameter.

#include <span>
#include <vector>

#include "device/launch/sums.hpp"
#include "optim/config.hpp"

namespace onebit::optim {

/// Sums a kernel (row, segment, i) -> double over [columns], for each row.
template <class Kernel>
std::vector<double> row_sums(const device::Device& device, Index rows, Index columns, const Kernel& kernel) {
  return sums(device, rows, device::Chunks(columns), kernel);
}

/// Root mean square over all workers, from the squares of this device's workers. Collective.
double root_mean_square(const device::Shard& shard, std::span<const double> own_squares);

/// Weight decay of every parameter; 0 in tensors that match no_decay. Throws ConfigError for a pattern that matches no
/// tensor.
device::Buffer<float> parameter_decay(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
