#pragma once
// What arms are called by the options in which they differ.

#include <map>
#include <span>
#include <string>
#include <vector>

namespace onebit::analysis {

/// A name for each of several different configurations (option, value), from as few of the options that differ as tell
/// all of them apart; the optimizer and its learning rate are kept first. An optimizer stands by its value alone, of
/// other options the last part of the name is left where that is clear: "onebit-adam, lr 0.001". An option that a
/// configuration lacks is "unset". Where nothing differs, there is one, called by its optimizer, or "run".
std::vector<std::string> arm_names(std::span<const std::map<std::string, std::string>> arms);

/// An order of configurations by the values of their options, the optimizer first, its learning rate second; numbers by
/// size, before texts.
bool options_before(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b);

/// A value that is a number as a whole; NaN for other text.
double number_in(const std::string& text);

}  // namespace onebit::analysis
