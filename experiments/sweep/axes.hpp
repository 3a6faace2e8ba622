#pragma once
// Axes of a sweep: the values that options take, and how the axes are combined.

#include "experiments/options/options.hpp"

namespace onebit::experiments {

struct Axis {
  std::string key;                  ///< option of a run
  std::vector<std::string> values;  ///< values in the option's own notation
};

/// Returns a value in the option's own notation, so that 1e-3 and 0.001 give the same text. Throws ConfigError for an
/// unknown option or a bad value.
std::string canonical(const std::string& key, const std::string& value);

/// Parses 'key=a,b,c', 'key=a;b;c' if values contain commas, or 'key=low:high:SPACING:count'. The values of a range are
/// equally spaced (lin) or have equal ratios (log), and are rounded to six significant digits. 'round' is like log, but
/// rounds the values between low and high to as few digits as keep them distinct, for example 1, 3, 10. Throws
/// ConfigError for malformed text, an unknown option or a repeated value.
Axis parse_axis(const std::string& text);

/// Returns the axis in the form that parse_axis reads.
std::string axis_text(const Axis& axis);

/// Returns a number of a range as an option's text: six significant digits, whole numbers without an exponent.
std::string range_value(double value);

/// Returns every combination of values, the first axis varying slowest. The axes of a zip, 'key,key', advance together.
/// In the order of the axes, a zip takes the place of the first of its axes. Throws ConfigError for two axes
/// of one option, a zip with axes of different lengths or unknown axes, and too many points.
std::vector<Settings> product(const std::vector<Axis>& axes, const std::vector<std::string>& zips);

/// Parses 'key=value,key=value', the settings of a skip, into the options' own notation. The key "arm" stands for the
/// arm's name.
Settings parse_skip(const std::string& text);

}  // namespace onebit::experiments
