#pragma once
// The final losses of a sweep as a table.

#include <string>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns a table of mean final losses, whose cells show the losses and are shaded by their ranks. Its axes are the
/// arms and their learning rates or, if only one rate was tried, the two options that distinguish the arms. Empty if
/// there is no such pair. Cells of arms that diverged, did not finish or were not run contain a note that says so.
std::string loss_map_html(const Report& report);

}  // namespace onebit::experiments
