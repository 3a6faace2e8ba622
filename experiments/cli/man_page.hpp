#pragma once
// The manual page, made from the tables of options.

#include <span>
#include <string>

#include "experiments/cli/command.hpp"

namespace onebit::experiments {

/// Returns the manual page onebit(1) in the macros of man(7).
std::string man_page(std::span<const Command> all, const std::string& version);

}  // namespace onebit::experiments
