#pragma once
// Rates of convergence: exponents fitted over runs that differ in one number.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"
#include "analysis/compare/paired.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// y = c x^exponent by least squares of the logarithms; the interval is Student's t on the residuals, NaN for fewer
/// than three points.
struct PowerFit {
  double exponent = 0;
  double half_width = 0;
  double factor = 0;  ///< c
  Index points = 0;
};

/// The spans have one length. Throws ConfigError where a number is not positive and finite, or all x are the same.
PowerFit fit_power(std::span<const double> x, std::span<const double> y);

/// What is fitted against: T, n, or epsilon as it was measured (TheoryConstants).
enum class Variable { steps, workers, errors };

/// One run: its number, and the mean of ||grad f(x)||^2 over its steps after the freeze (all steps where nothing
/// freezes), as its probes measured it.
struct RatePoint {
  double x = 0;
  double gradient_square = 0;
  double learning_rate = std::numeric_limits<double>::quiet_NaN();  ///< NaN: the log does not say
};

/// Throws ConfigError where the log has no probes, or no errors to fit against.
RatePoint rate_point(const sim::LogReader& log, Variable variable);

/// Runs that differ in their number and seed alone (for errors in what makes them: codecs, and the quadratic's noise
/// and heterogeneity), and the power law through them. Learning rates differ only where each setting of what is fitted
/// against has one of its own.
struct RateFit {
  std::string name;                    ///< the optimizer; of several fits with what tells them apart
  std::string optimizer;               ///< empty: the log does not say
  std::vector<RatePoint> points;       ///< by x, then in the order of the logs
  std::vector<std::string> differing;  ///< options in which its runs differ, sorted; the seed is none of them
  PowerFit fit;
};

/// In the order of their first runs. Where runs of one setting were made at several learning rates, each rate has a fit
/// of its own. Theory on 1-bit Adam (Corollary 1) has exponents of -1/2 in steps and in workers where noise dominates
/// and the learning rate goes with sqrt(workers / steps), and of 2/3 in errors where they dominate and the rate goes
/// with errors^(-2/3). Throws what the reader, rate_point and fit_power throw, and ConfigError naming the fit where its
/// runs have one setting only.
std::vector<RateFit> fit_rates(std::span<const Run> runs, Variable variable);

}  // namespace onebit::analysis
