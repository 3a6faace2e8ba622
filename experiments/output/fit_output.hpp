#pragma once
// Fitted rates of convergence, for people and for programs.

#include <iosfwd>
#include <string>
#include <vector>

#include "analysis/theory/fit.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Prints points and fitted lines, then each exponent with its interval. variable: the variable of the fit.
void print_fits(const std::vector<analysis::RateFit>& fits, const std::string& variable, std::ostream& out);
Json to_json(const std::vector<analysis::RateFit>& fits);

/// Draws <stem>.svg and .png: runs and lines on logarithmic axes, next to the theory's exponent. Returns no paths
/// without gnuplot.
std::vector<std::string> draw_fits(const std::vector<analysis::RateFit>& fits, const std::string& variable,
                                   const std::string& stem);

}  // namespace onebit::experiments
