#pragma once
// Output of a memory plan.

#include <iosfwd>

#include "experiments/output/output.hpp"
#include "sim/run/memory_plan.hpp"

namespace onebit::experiments {

/// Prints the planned bytes for each purpose, and the total with the run's limit.
void print_memory(const sim::PreparedRun& run, std::ostream& out);

/// Returns the bytes by purpose, the total, the limit and the worker group.
Json to_json(const sim::MemoryPlan& plan);

}  // namespace onebit::experiments
