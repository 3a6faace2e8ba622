#pragma once
// A memory plan as the program shows it.

#include <iosfwd>

#include "experiments/output/output.hpp"
#include "sim/run/memory_plan.hpp"

namespace onebit::experiments {

/// A row for each purpose, and the total next to what the run may take.
void print_memory(const sim::PreparedRun& run, std::ostream& out);

/// Bytes by purpose, total, limit, and the worker group.
Json to_json(const sim::MemoryPlan& plan);

}  // namespace onebit::experiments
