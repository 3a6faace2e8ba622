#pragma once
// The best value of an option by golden section on a logarithmic scale.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/base/types.hpp"

namespace onebit::experiments {

struct Tuning {
  std::string key;           ///< option of a run
  double low = 0, high = 0;  ///< 0 < low < high
  Index evaluations = 0;     ///< values that are tried, at least 2
};

/// 'key=low:high'. Throws ConfigError: malformed, unknown option.
Tuning parse_tuning(const std::string& text, Index evaluations);

/// Loss of a tried value, infinite where it diverged or failed; nothing as long as it is not known.
using LossOfValue = std::function<std::optional<double>(const std::string& value)>;

/// The values to try, in order, as far as the losses known decide them: the first two at once, then one after another.
/// What comes depends on nothing but the losses. Of two equal losses the lower value is followed.
std::vector<std::string> tuned_values(const Tuning& tuning, const LossOfValue& loss);

}  // namespace onebit::experiments
