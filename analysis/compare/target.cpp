#include "analysis/compare/target.hpp"

#include <cmath>
#include <limits>

namespace onebit::analysis {

double reached_at(std::span<const double> x, std::span<const double> loss, double target) {
  for (std::size_t i = 0; i < loss.size(); ++i) {
    if (!(loss[i] <= target)) continue;
    if (i == 0 || !std::isfinite(loss[i - 1])) return x[i];
    const double share = (loss[i - 1] - target) / (loss[i - 1] - loss[i]);
    return x[i - 1] + share * (x[i] - x[i - 1]);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double common_target(std::span<const Arm* const> arms) {
  double target = std::numeric_limits<double>::quiet_NaN();
  for (const Arm* arm : arms) {
    for (const Run& run : arm->runs) {
      if (outcome_of(run) == Outcome::finished) target = std::fmax(target, run.summary.best_loss);
    }
  }
  return target;
}

}  // namespace onebit::analysis
