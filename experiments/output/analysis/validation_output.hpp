#pragma once
// Output of a validation of the freeze, as text, JSON and pictures.

#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Prints the cost of freezing at each candidate and of compressing afterwards, and the chosen candidate. reference:
/// the loss above which the excess is counted, in words.
void print_validation(const analysis::FreezeValidation& validation, const std::string& reference, std::ostream& out);
Json to_json(const analysis::FreezeValidation& validation);

/// Draws <stem>.svg and .png: the final loss of each seed, dense, frozen and compressed, against the freeze step.
/// Returns the paths; none without gnuplot.
std::vector<std::string> draw_validation(const analysis::FreezeValidation& validation, const std::string& stem);

}  // namespace onebit::experiments
