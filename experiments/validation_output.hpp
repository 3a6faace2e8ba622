#pragma once
// What a validation of the freeze rule says, for people and for programs.

#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/freeze_validation.hpp"
#include "experiments/output.hpp"

namespace onebit::experiments {

/// What freezing at each threshold came to, and which is the earliest that did no harm.
void print_validation(const analysis::FreezeValidation& validation, std::ostream& out);
Json to_json(const analysis::FreezeValidation& validation);

/// <stem>.svg and .png: final loss of every run, and of each threshold in the mean, against the freeze step. None
/// without gnuplot.
std::vector<std::string> draw_validation(const analysis::FreezeValidation& validation, const std::string& stem);

}  // namespace onebit::experiments
