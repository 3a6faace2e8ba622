#pragma once
// The options in which the arms of a report differ.

#include <span>
#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"

namespace onebit::experiments {

struct VariedOption {
  std::string name;
  std::vector<std::string> values;  ///< distinct values: numbers in ascending order, then words
};

/// Returns the options that do not have the same value in all arms that read them, by name.
std::vector<VariedOption> varied(std::span<const analysis::Arm> arms);

/// Returns an arm's value of an option; "none" if the option has no effect in the arm, and empty if the arm lacks it.
std::string value_of(const analysis::Arm& arm, const std::string& option);

}  // namespace onebit::experiments
