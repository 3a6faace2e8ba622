#pragma once
// Axes of a sweep: the values that options take, and how the axes advance.

#include "experiments/options/options.hpp"

namespace onebit::experiments {

struct Axis {
  std::string key;                  ///< option of a run
  std::vector<std::string> values;  ///< as the option writes them
};

/// Values as the option writes them, so that 1e-3 and 0.001 are one. Throws ConfigError: unknown option, bad value.
std::string canonical(const std::string& key, const std::string& value);

/// 'key=a,b,c', 'key=a;b;c' where values have commas, 'key=low:high:log:count' or 'key=low:high:lin:count'. A range is
/// rounded to six significant digits. Throws ConfigError: malformed, unknown option, a value twice.
Axis parse_axis(const std::string& text);

/// The axis as parse_axis takes it.
std::string axis_text(const Axis& axis);

/// A number in a range as the text of an option: six significant digits, whole numbers without an exponent.
std::string range_value(double value);

/// Every choice of values, the first axis slowest; axes of one zip advance together, at the place of their first.
/// zips: 'key,key'. Throws ConfigError: two axes of one option, a zip of other lengths or unknown axes, too many
/// points.
std::vector<Settings> product(const std::vector<Axis>& axes, const std::vector<std::string>& zips);

/// 'key=value,key=value': the settings of a skip, as the options write them. Key "arm" stands for the arm's name.
Settings parse_skip(const std::string& text);

}  // namespace onebit::experiments
