#pragma once
// Determines, by name, which options can change the results of a run. Their values must agree for a run to be resumed,
// to be the same point of a sweep, or to be another seed of an arm.

#include <string>

namespace onebit::sim {

/// Whether the value of an option can change the results of a run, other than times.
bool decides_results(const std::string& option);

/// Returns the backend that the devices compute on, "cuda" for example; empty for CPUs. Backends round differently.
std::string backend_of(const std::string& devices);

}  // namespace onebit::sim
