#pragma once
// How small the numbers are that an optimizer divides by, tensor by tensor: the least of them limits how long a step
// can become.

#include <vector>

#include "compress/layout/tensor.hpp"
#include "optim/optimizer.hpp"

namespace onebit::sim {

/// Statistics of d = sqrt(v) * correction + eps over the coordinates of each tensor whose variance is not 0; NaN for a
/// tensor that has none.
struct Denominators {
  std::vector<double> least = {};   ///< [tensors]
  std::vector<double> low = {};     ///< a hundredth of the coordinates lie below it
  std::vector<double> median = {};  ///< of an even number, the lower middle one
};

/// Computes the denominators of each tensor: `least` over every coordinate, `low` and `median` over at most 2^16
/// coordinates of the tensor, evenly spread. Reads the variance to the host. Empty if the optimizer has no variance
/// that all workers share.
Denominators denominators_of(const optim::Denominator& denominator, const std::vector<compress::Tensor>& tensors);

}  // namespace onebit::sim
