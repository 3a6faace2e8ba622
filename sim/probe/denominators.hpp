#pragma once
// Measures, for each tensor, how small an optimizer's denominators are. The smallest of them limits how long a step can
// become.

#include <vector>

#include "compress/layout/tensor.hpp"
#include "optim/optimizer.hpp"

namespace onebit::sim {

/// Statistics of d = sqrt(v) * correction + eps for each tensor, over its coordinates whose variance is not 0; NaN if
/// it has no such coordinates.
struct Denominators {
  std::vector<double> least = {};   ///< smallest d of each tensor
  std::vector<double> low = {};     ///< 1st percentile of d of each tensor
  std::vector<double> median = {};  ///< median of d of each tensor; the lower of two middle values
};

/// Computes the denominators of each tensor: `least` over every coordinate, `low` and `median` over at most 2^16
/// coordinates of the tensor, evenly spread. Waits for the device. Empty if the optimizer has no variance that all
/// workers share, or does not report it (0/1 Adam, CADA).
Denominators denominators_of(const device::Device& device, const optim::Denominator& denominator,
                             const std::vector<compress::Tensor>& tensors);

}  // namespace onebit::sim
