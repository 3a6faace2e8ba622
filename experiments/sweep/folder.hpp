#pragma once
// The definitions that a folder keeps: sweep.ini, and sweep-2.ini, sweep-3.ini, ... for those that extended it.

#include <functional>

#include "experiments/sweep/definition.hpp"

namespace onebit::experiments {

/// All definitions of the folder in their order, with the one asked for added: as the first of an empty folder, or
/// with `extend`. One that is there already stays alone. `write`: false leaves the files alone. Throws ConfigError: the
/// folder is of another sweep (with the difference), or is not a sweep's.
std::vector<SweepDefinition> definitions_in(const std::string& folder, const SweepDefinition& asked, bool extend,
                                            bool write);

/// Those that are there.
std::vector<SweepDefinition> definitions_in(const std::string& folder);

}  // namespace onebit::experiments
