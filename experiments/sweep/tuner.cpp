#include "experiments/sweep/tuner.hpp"

#include <cmath>

#include "device/base/error.hpp"
#include "experiments/sweep/axes.hpp"

namespace onebit::experiments {
namespace {

const double kGolden = (std::sqrt(5.0) - 1) / 2;

struct Trial {
  double at = 0;  ///< logarithm of the value
  std::string value;
};

}  // namespace

Tuning parse_tuning(const std::string& text, Index evaluations) {
  const std::size_t equals = text.find('=');
  const std::vector<std::string> range =
      equals == std::string::npos ? std::vector<std::string>() : split(text.substr(equals + 1), ':');
  if (range.size() != 2) throw ConfigError("malformed tune", text, "write key=low:high, e.g. optimizer.lr=1e-4:1e-1");
  const Tuning tuning{long_name(text.substr(0, equals)), parse_real("tune", range[0]), parse_real("tune", range[1]),
                      evaluations};
  if (!(tuning.low > 0 && tuning.high > tuning.low)) throw ConfigError("bad range", "tune " + text, "0 < low < high");
  for (const double end : {tuning.low, tuning.high}) canonical(tuning.key, range_value(end));
  return tuning;
}

std::vector<std::string> tuned_values(const Tuning& tuning, const LossOfValue& loss) {
  double low = std::log(tuning.low), high = std::log(tuning.high);
  std::vector<std::string> tried;
  const auto trial = [&](double at) {
    tried.push_back(range_value(std::exp(at)));
    return Trial{at, tried.back()};
  };
  Trial lower = trial(high - kGolden * (high - low)), upper = trial(low + kGolden * (high - low));
  while (static_cast<Index>(tried.size()) < tuning.evaluations) {
    const std::optional<double> below = loss(lower.value), above = loss(upper.value);
    if (!below || !above) break;
    if (*below <= *above) {
      high = upper.at;
      upper = lower;
      lower = trial(high - kGolden * (high - low));
    } else {
      low = lower.at;
      lower = upper;
      upper = trial(low + kGolden * (high - low));
    }
  }
  return tried;
}

}  // namespace onebit::experiments
