#pragma once
// Rates of convergence: exponents fitted over runs that differ in one quantity.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"
#include "analysis/compare/paired.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Power law y = c x^exponent, fitted by least squares on the logarithms. The exponent's interval is a Student's t
/// interval based on the residuals; half_width is NaN for fewer than three points.
struct PowerFit {
  double exponent = 0;
  double half_width = 0;
  double factor = 0;  ///< the constant c
  Index points = 0;
};

/// Fits a power law; the spans have equal length. Throws ConfigError if a number is not positive and finite, or all
/// x are equal.
PowerFit fit_power(std::span<const double> x, std::span<const double> y);

/// Independent variable of a fit: the number of steps T or of workers n, or the measured epsilon (TheoryConstants).
enum class Variable { steps, workers, errors };

/// One run: the value of the variable, and the mean of ||grad f(x)||^2 over its steps after the freeze (all steps if
/// nothing freezes), as measured by its probes.
struct RatePoint {
  double x = 0;
  double gradient_square = 0;
  double learning_rate = std::numeric_limits<double>::quiet_NaN();  ///< learning rate; NaN: not in the log
};

/// Measures one run. Throws ConfigError if the log has no probes, or no errors to fit against.
RatePoint rate_point(const sim::LogReader& log, Variable variable);

/// Runs that differ only in the variable and the seed, and the power law through them. For Variable::errors they differ
/// in options that cause errors: the codec, and the quadratic's noise and heterogeneity. The runs have different
/// learning rates only if each setting of the variable has its own rate.
struct RateFit {
  std::string name;                    ///< the optimizer; with several fits, also what distinguishes them
  std::string optimizer;               ///< name of the optimizer; empty: not in the log
  std::vector<RatePoint> points;       ///< points sorted by x, then in the order of the logs
  std::vector<std::string> differing;  ///< options in which its runs differ, sorted, without the seed
  PowerFit fit;
};

/// Fits groups of runs; the fits are in the order of their first runs. If runs with the same setting of the variable
/// used several learning rates, each rate has its own fit. The theory of 1-bit Adam (Corollary 1) predicts exponents of
/// -1/2 in steps and in workers where noise dominates and the learning rate scales as sqrt(workers / steps), and of 2/3
/// in errors where errors dominate and the rate scales as errors^(-2/3). Throws what the reader, rate_point and
/// fit_power throw, and ConfigError naming the fit if its runs have only one setting.
std::vector<RateFit> fit_rates(std::span<const Run> runs, Variable variable);

}  // namespace onebit::analysis
