#pragma once
// Mean training losses before and after the freeze.

#include <vector>

#include "sim/log/schema.hpp"

namespace onebit::analysis {

/// Over a tenth of the run, ten steps at least; NaN where no step of it is logged.
struct LossChange {
  Index window = 0;   ///< steps
  double before = 0;  ///< up to the freeze
  double after = 0;   ///< from the step after the freeze on
  double at_end = 0;  ///< the last steps
};

/// Precondition: rows are not empty.
LossChange loss_change(const std::vector<sim::StepRow>& rows, Index freeze_step);

}  // namespace onebit::analysis
