#pragma once
// A floor that the variance is raised to when it is frozen. The noise that one bit adds to a momentum is divided by the
// root of the variance.

#include <string>
#include <vector>

#include "compress/layout/tensor.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::optim {

/// The least value of a frozen variance. This is ours: neither the papers of 1-bit Adam and 1-bit LAMB nor the released
/// code have one.
struct VarianceFloor {
  double value = 0;      ///< 0: no floor
  bool of_mean = false;  ///< whether value is a share of the mean over the tensor's nonzero coordinates; else absolute
};

/// The floor to try first if small denominators blow up the noise of one bit. docs/freeze.md shows its effect on the
/// tasks of the study.
inline constexpr const char* kFloorToTry = "mean:0.01";

/// Parses a floor such as "0", "1e-12" or "mean:0.01". Throws ConfigError if it is malformed or negative.
VarianceFloor parse_variance_floor(const std::string& text);

struct RaisedVariance {
  Index raised = 0;           ///< number of raised coordinates
  std::vector<double> least;  ///< [tensors]: the floor of the corrected variance; 0: none
};

/// Raises the stored variance [parameters] of the tensors to the floor. weight: what the stored variance is divided by
/// to remove its bias, since an absolute floor is one of the corrected variance. Coordinates with variance 0 stay at 0:
/// they are masked. left_out [tensors]: marks tensors that are not changed; empty: none.
RaisedVariance raise(const VarianceFloor& floor, const std::vector<compress::Tensor>& tensors, double weight,
                     device::Buffer<float>& variance, const std::vector<char>& left_out = {});

}  // namespace onebit::optim
