#pragma once
// What a validation of the freeze says, for people and for programs.

#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// What freezing at each candidate and compressing from there on cost, and which candidate was chosen. reference: what
/// an excess loss is counted from, in words.
void print_validation(const analysis::FreezeValidation& validation, const std::string& reference, std::ostream& out);
Json to_json(const analysis::FreezeValidation& validation);

/// <stem>.svg and .png: what every seed paid, frozen and compressed, against the freeze step. None without gnuplot.
std::vector<std::string> draw_validation(const analysis::FreezeValidation& validation, const std::string& stem);

}  // namespace onebit::experiments
