#pragma once
// Mean training losses before and after the freeze.

#include <vector>

#include "sim/log/schema.hpp"

namespace onebit::analysis {

/// Mean losses over windows of a tenth of the run, at least ten steps; NaN if no step of a window is logged.
struct LossChange {
  Index window = 0;   ///< length of a window in steps
  double before = 0;  ///< mean loss of the window that ends with the freeze
  double after = 0;   ///< mean loss of the window that begins after the freeze
  double at_end = 0;  ///< mean loss of the last window of the run
};

/// Returns the means around the freeze and at the end. Precondition: `rows` is not empty.
LossChange loss_change(const std::vector<sim::StepRow>& rows, Index freeze_step);

}  // namespace onebit::analysis
