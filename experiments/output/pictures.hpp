#pragma once
// A command's output about the pictures that it drew.

#include <iosfwd>
#include <string>
#include <vector>

namespace onebit::experiments {

/// Prints their paths, or why there are none.
void print_pictures(const std::vector<std::string>& paths, std::ostream& out);

}  // namespace onebit::experiments
