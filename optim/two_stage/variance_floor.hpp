#pragma once
// How far the variance is raised where it is frozen: what one bit adds to a momentum is divided by its root.

#include <string>
#include <vector>

#include "compress/layout/tensor.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::optim {

/// The least value of a frozen variance. Ours: neither the papers of 1-bit Adam and 1-bit LAMB nor the released code
/// have one.
struct VarianceFloor {
  double value = 0;      ///< 0: no floor
  bool of_mean = false;  ///< value is a share of the mean over the tensor's coordinates that are not 0; else absolute
};

/// The floor to try first where one bit explodes over small denominators: docs/freeze.md has what it does to the tasks
/// of the study.
inline constexpr const char* kFloorToTry = "mean:0.01";

/// Of "0", "1e-12" or "mean:0.01". Throws ConfigError.
VarianceFloor parse_variance_floor(const std::string& text);

struct RaisedVariance {
  Index raised = 0;           ///< coordinates
  std::vector<double> least;  ///< [tensors]: the floor of the variance that preconditions
};

/// Raises the stored variance [parameters] of the tensors; weight: what it is divided by to have no bias, for a floor
/// that is absolute is one of the variance that preconditions. Coordinates at 0 stay there: they are masked. left_out
/// [tensors]: marks tensors that stay as they are; empty: none.
RaisedVariance raise(const VarianceFloor& floor, const std::vector<compress::Tensor>& tensors, double weight,
                     device::Buffer<float>& variance, const std::vector<char>& left_out = {});

}  // namespace onebit::optim
