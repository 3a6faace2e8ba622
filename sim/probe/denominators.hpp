#pragma once
// How small the numbers are that an optimizer divides by, tensor by tensor: a step that something large is divided into
// is as long as the least of them allows.

#include <vector>

#include "optim/optimizer.hpp"
#include "sim/models/tensor_info.hpp"

namespace onebit::sim {

/// Of d = sqrt(v) * correction + eps over the coordinates of each tensor whose variance is not 0; NaN where there are
/// none.
struct Denominators {
  std::vector<double> least = {};   ///< [tensors]
  std::vector<double> low = {};     ///< a hundredth of them lie below it
  std::vector<double> median = {};  ///< the lower one of two
};

/// Every coordinate counts for the least one; `low` and `median` are those of at most 2^16 coordinates of each tensor,
/// evenly spread over it. Reads the variance to the host. Empty where the optimizer has none that all workers share.
Denominators denominators_of(const optim::Denominator& denominator, const std::vector<TensorInfo>& tensors);

}  // namespace onebit::sim
