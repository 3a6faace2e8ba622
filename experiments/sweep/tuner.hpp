#pragma once
// Finds the best value of an option by golden section on a logarithmic scale.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

struct Tuning {
  std::string key;           ///< option of a run
  double low = 0, high = 0;  ///< 0 < low < high
  Index evaluations = 0;     ///< number of values to try, at least 2
};

/// Parses 'key=low:high'. Throws ConfigError for malformed text or an unknown option.
Tuning parse_tuning(const std::string& text, Index evaluations);

/// A function that returns the loss of a tried value (infinite if a run diverged or failed), or nothing while it is
/// unknown.
using LossOfValue = std::function<std::optional<double>(const std::string& value)>;

/// Returns the values to try, in order, as far as the known losses determine them: the first two values together, then
/// one value at a time. The values depend only on `tuning` and the losses. Of two equal losses, the one at the lower
/// value counts as better.
std::vector<std::string> tuned_values(const Tuning& tuning, const LossOfValue& loss);

}  // namespace onebit::experiments
