#pragma once
// What the rest of the program asks the CUDA backend by name; the stub answers in builds without it.

#include <string>
#include <utility>
#include <vector>

namespace onebit::device::cuda {

/// One row a GPU ("cuda:0", its name, memory and architecture), or one row that says why there is none.
std::vector<std::pair<std::string, std::string>> list();

}  // namespace onebit::device::cuda
