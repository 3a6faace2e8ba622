#pragma once
// A floor to which the variance is raised when it is frozen. The noise that 1-bit compression adds to a momentum is
// divided by the root of the variance, so small variances amplify it.

#include <string>
#include <vector>

#include "compress/layout/tensor.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::optim {

/// The minimum of a frozen variance. This is our own extension: neither the 1-bit Adam and 1-bit LAMB papers nor the
/// released code have one.
struct VarianceFloor {
  double value = 0;      ///< 0: no floor
  bool of_mean = false;  ///< true: value is a share of the mean over the tensor's nonzero coordinates; false: absolute
};

/// The floor to try first if small denominators amplify the noise of 1-bit compression. docs/freeze.md shows its effect
/// on the tasks of the study.
inline constexpr const char* kFloorToTry = "mean:0.01";

/// Parses a floor such as "0", "1e-12" or "mean:0.01". Throws ConfigError if it is malformed or negative.
VarianceFloor parse_variance_floor(const std::string& text);

struct RaisedVariance {
  Index raised = 0;           ///< number of raised coordinates
  std::vector<double> least;  ///< the floor of the corrected variance, [tensors]; 0: none
};

/// Raises the stored variance [parameters] of the tensors to the floor. weight: the number by which the stored variance
/// is divided to remove its bias, needed because an absolute floor applies to the corrected variance. Coordinates with
/// variance 0 stay at 0, because they are masked. left_out [tensors]: marks tensors that are not changed; empty: none.
RaisedVariance raise(const VarianceFloor& floor, const std::vector<compress::Tensor>& tensors, double weight,
                     device::Buffer<float>& variance, const std::vector<char>& left_out = {});

}  // namespace onebit::optim
