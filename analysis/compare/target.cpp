#include "analysis/compare/target.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace onebit::analysis {

namespace {

/// Returns the index of the first loss at or below the target, or the number of losses.
std::size_t first_at(std::span<const double> loss, double target) {
  std::size_t i = 0;
  while (i < loss.size() && !(loss[i] <= target)) ++i;
  return i;
}

}  // namespace

double reached_at(std::span<const double> x, std::span<const double> loss, double target) {
  const std::size_t i = first_at(loss, target);
  if (i == loss.size() || i == 0 || !std::isfinite(loss[i - 1])) return evaluated_at(x, loss, target);
  const double share = (loss[i - 1] - target) / (loss[i - 1] - loss[i]);
  return x[i - 1] + share * (x[i] - x[i - 1]);
}

double evaluated_at(std::span<const double> x, std::span<const double> loss, double target) {
  const std::size_t i = first_at(loss, target);
  return i < loss.size() ? x[i] : std::numeric_limits<double>::quiet_NaN();
}

double evaluated_before(std::span<const double> x, std::span<const double> loss, double target) {
  const std::size_t i = first_at(loss, target);
  return i < loss.size() ? x[i == 0 ? 0 : i - 1] : std::numeric_limits<double>::quiet_NaN();
}

bool falls_until(std::span<const double> loss, double target) {
  const std::size_t end = std::min(first_at(loss, target) + 1, loss.size());
  return std::is_sorted(loss.begin(), loss.begin() + static_cast<std::ptrdiff_t>(end), std::greater());
}

bool turns_near(std::span<const double> steps, std::span<const double> loss, double target) {
  constexpr double near = 0.05;
  const std::size_t end = first_at(loss, target);
  for (std::size_t i = 1; i < end && end < loss.size(); ++i) {
    const bool rises = loss[i] > loss[i - 1] && steps[i] - steps[i - 1] > 1;
    if (rises && loss[i - 1] - target <= near * std::abs(target)) return true;
  }
  return false;
}

bool is_rough(std::span<const double> steps, std::span<const double> loss, double target) {
  constexpr double most = 0.2;
  const std::size_t i = first_at(loss, target);
  if (i == 0 || i == loss.size()) return false;
  const double apart = steps[i] - steps[i - 1];
  return apart > 1 && apart > most * steps[i] * (1 + 1e-9);
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
