#pragma once
// Workers with rows of their own: sums over the rows, and weight decay of single parameters.

#include <span>
#include <vector>

#include "device/launch/sums.hpp"
#include "optim/config.hpp"

namespace onebit::optim {

/// Sum over [columns] of a kernel (row, segment, i) -> double, for each row.
template <class Kernel>
std::vector<double> row_sums(const device::Device& device, Index rows, Index columns, const Kernel& kernel) {
  return sums(device, rows, device::Chunks(columns), kernel);
}

/// Root of the mean square over all workers, of the squares of this device's. Collective.
double root_mean_square(const device::Shard& shard, std::span<const double> own_squares);

/// Weight decay of every parameter: 0 in the tensors that no_decay names. Throws ConfigError for a pattern that fits no
/// tensor.
device::Buffer<float> parameter_decay(const Problem& problem, const OptimizerConfig& config);

}  // namespace onebit::optim
