#pragma once
// The list of the pictures that a command drew.

#include <iosfwd>
#include <string>
#include <vector>

namespace onebit::experiments {

/// Prints the paths of the pictures, or why there are none.
void print_pictures(const std::vector<std::string>& paths, std::ostream& out);

}  // namespace onebit::experiments
