#pragma once
// What a command says of the pictures that it drew.

#include <iosfwd>
#include <string>
#include <vector>

namespace onebit::experiments {

/// Their paths, or why there are none.
void print_pictures(const std::vector<std::string>& paths, std::ostream& out);

}  // namespace onebit::experiments
