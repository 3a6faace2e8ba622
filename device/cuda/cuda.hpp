#pragma once
// The CUDA backend's functions that the rest of the program calls by name; the stub defines them in builds without
// CUDA.

#include <string>
#include <utility>
#include <vector>

namespace onebit::device::cuda {

/// One row for each GPU ("cuda:0", its name, memory and architecture), or one row that gives the reason why there is
/// none.
std::vector<std::pair<std::string, std::string>> list();

}  // namespace onebit::device::cuda
