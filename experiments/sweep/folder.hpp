#pragma once
// The definitions in a folder: sweep.ini, and sweep-2.ini, sweep-3.ini, ... for those that extended it.

#include <functional>

#include "experiments/sweep/definition.hpp"

namespace onebit::experiments {

/// Returns all definitions of the folder in order, with the requested one added if it is new and the folder is empty or
/// `extend` is set. write: false leaves the files unchanged. Throws ConfigError if the folder belongs to another sweep
/// (naming the difference), or contains logs that do not belong to a sweep.
std::vector<SweepDefinition> definitions_in(const std::string& folder, const SweepDefinition& asked, bool extend,
                                            bool write);

/// Returns the definitions in the folder.
std::vector<SweepDefinition> definitions_in(const std::string& folder);

/// Returns the options of a sweep that is resumed: the folder's first definition says what to sweep, `given` how to
/// execute it. Throws ConfigError if the folder has no sweep, or if other options are given that say what to sweep.
SweepOptions resumed(const SweepOptions& given);

}  // namespace onebit::experiments
