#pragma once
// What `run` prints before its first step, and its answer.

#include <iosfwd>
#include <limits>
#include <string>

#include "analysis/log/summary.hpp"
#include "sim/run/memory_plan.hpp"

namespace onebit::experiments {

/// Prints how many examples an evaluation takes, and how often the run is evaluated, unless the split is empty. Then
/// prints how good a model can be, if that is known.
void print_evaluations(const sim::PreparedRun& run, std::ostream& out);

/// Prints what is about to be trained, and the memory that it takes.
void print_start(const sim::PreparedRun& run, std::ostream& out);

/// Returns "each worker sent 1.11 MB, 5.66x less than dense fp32 (2.83x less than fp16)"; leaves out ratios that are
/// not finite.
std::string sent_text(double bytes, double ratio_fp32, double ratio_fp16 = std::numeric_limits<double>::quiet_NaN());

/// Prints how the run ended: loss and bytes, then the log and the command that examines it.
void print_answer(const analysis::Summary& summary, std::ostream& out);

}  // namespace onebit::experiments
