#pragma once
// Mean training losses before and after the freeze.

#include <vector>

#include "sim/log/schema.hpp"

namespace onebit::analysis {

/// Mean losses over windows of a tenth of the run, at least ten steps; NaN where no step of a window is logged.
struct LossChange {
  Index window = 0;   ///< steps
  double before = 0;  ///< up to the freeze
  double after = 0;   ///< from the first step after the freeze
  double at_end = 0;  ///< over the last steps
};

/// Returns the means around the freeze and at the end. Precondition: rows are not empty.
LossChange loss_change(const std::vector<sim::StepRow>& rows, Index freeze_step);

}  // namespace onebit::analysis
