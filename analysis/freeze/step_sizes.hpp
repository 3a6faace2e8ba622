#pragma once
// Indications that steps will explode after the freeze: how far one bit would move a coordinate, and the quality
// of the exchanges afterwards. Computed from a log alone.

#include <string>
#include <vector>

#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Step lengths of a tensor's coordinates in units of the learning rate, if its momentum were sent as signs: s / d with
/// d = sqrt(v) + eps, where s is the root mean square of the elements that share one scale (the tensor, or all tensors
/// with optimizer.granularity fused).
struct TensorSteps {
  std::string name;
  Index size = 0;
  std::vector<double> longest;  ///< lengths at the smallest d, [steps]
  std::vector<double> high;     ///< lengths exceeded by 1% of the coordinates, [steps]
  std::vector<double> typical;  ///< lengths at the median d, [steps]
};

struct StepSizes {
  std::vector<Index> steps;  ///< steps of the rows of /tensors
  std::vector<TensorSteps> tensors;
  std::vector<double> longest;  ///< largest step lengths over all tensors, [steps]
  std::size_t freeze_row = 0;   ///< index of the last row up to the freeze; without a freeze, of the last row
};

/// Computes the step lengths of a run. Throws ConfigError if the log has no denominators of tensors, IoError as the
/// reader does.
StepSizes view_step_sizes(const sim::LogReader& log);

/// Quality of the exchanges after the freeze, at the rows of /workers.
struct CompressionSeries {
  std::vector<Index> steps;
  /// Quality delta of the codec. Workers: 1 - (mean over workers of ||y - C(y)|| / ||y||)^2; servers: 1 - ||y -
  /// C(y)||^2 / ||y||^2. A negative delta means that the error has a larger norm than the vector.
  std::vector<double> worker_delta, server_delta;
  std::vector<double> error_share;  ///< ||e|| (root mean square over workers) / ||m||
  /// Mean training losses over two windows of a tenth of the run (at least ten steps) each: the window that ends with
  /// the freeze, and the last window of the run.
  double loss_before = 0, loss_after = 0;
};

/// Returns the series; empty if the run was not frozen or no codec error was measured afterwards.
CompressionSeries view_compression(const sim::LogReader& log);

}  // namespace onebit::analysis
