#pragma once
// Which options decide the results of a run, by name. These must agree for a run to be resumed, to be counted once in a
// sweep, or to count as another seed of an arm.

#include <string>

namespace onebit::sim {

/// Whether the value of an option can change the results of a run, other than times.
bool decides_results(const std::string& option);

/// Returns the backend that the devices compute on, "cuda" for example; empty for CPUs. Backends round differently.
std::string backend_of(const std::string& devices);

}  // namespace onebit::sim
