#pragma once
// Fitted rates of convergence, as text, JSON and pictures.

#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/theory/fit.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Prints points and fitted values, then each exponent with its interval. variable: name of the variable of the fit.
void print_fits(const std::vector<analysis::RateFit>& fits, const std::string& variable, std::ostream& out);
Json to_json(const std::vector<analysis::RateFit>& fits);

/// Draws <stem>.svg and .png: the runs and fitted lines on logarithmic axes, and a line with the theory's exponent.
/// Returns the paths; none without gnuplot.
std::vector<std::string> draw_fits(const std::vector<analysis::RateFit>& fits, const std::string& variable,
                                   const std::string& stem);

}  // namespace onebit::experiments
