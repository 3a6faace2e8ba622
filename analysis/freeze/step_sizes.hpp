#pragma once
// What predicts that steps explode after the freeze: how far one bit would move a coordinate, and what the codec then
// does. From a log alone.

#include <string>
#include <vector>

#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Steps of a tensor's coordinates, in learning rates, if its momentum were sent as signs: s / d, s being the root mean
/// square of what shares one scale (the tensor, or with optimizer.granularity fused everything), d = sqrt(v) + eps.
struct TensorSteps {
  std::string name;
  Index size = 0;
  std::vector<double> longest;  ///< [steps]: over the least d
  std::vector<double> high;     ///< a hundredth of the coordinates go further
  std::vector<double> typical;  ///< over the median d
};

struct StepSizes {
  std::vector<Index> steps;  ///< rows of /tensors
  std::vector<TensorSteps> tensors;
  std::vector<double> longest;  ///< [steps]: over all tensors
  std::size_t freeze_row = 0;   ///< the last row up to the freeze, or the last one
};

/// Throws ConfigError where the log has no denominators of tensors, IoError as the reader does.
StepSizes view_step_sizes(const sim::LogReader& log);

/// What the exchanges did after the freeze, at the rows of /workers.
struct CompressionSeries {
  std::vector<Index> steps;
  std::vector<double> worker_delta, server_delta;  ///< 1 - ||y - C(y)||^2 / ||y||^2: below 0 the codec expands
  std::vector<double> error_share;                 ///< ||e|| (root mean square over workers) / ||m||
  double loss_before = 0,
         loss_after = 0;  ///< mean training loss of a tenth of the run, before the freeze and at the end
};

/// Empty where the run was not frozen, or measured no codec afterwards.
CompressionSeries view_compression(const sim::LogReader& log);

}  // namespace onebit::analysis
