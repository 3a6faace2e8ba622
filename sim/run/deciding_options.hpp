#pragma once
// Which options of a run decide what comes out of it, by name: what has to be the same for a run to be resumed, counted
// once in a sweep, or taken for another seed of an arm.

#include <string>

namespace onebit::sim {

/// Whether the value of an option of a run can change what comes out of it, but for times.
bool decides_results(const std::string& option);

/// The backend that devices compute on, where it is not the CPU's: "cuda"; else empty. It rounds differently.
std::string backend_of(const std::string& devices);

}  // namespace onebit::sim
