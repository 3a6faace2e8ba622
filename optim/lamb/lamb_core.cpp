#include "optim/lamb/lamb_core.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "device/launch/stopwatch.hpp"
#include "optim/lamb/lamb_kernels.hpp"

namespace onebit::optim {
namespace {

/// Computes the trust ratio from the squared norms of a tensor and of its direction.
double trust_ratio(const LambConfig& config, double x, double u) {
  if (x == 0 || u == 0) return 1;
  return std::clamp(std::sqrt(x) / std::sqrt(u), config.min_coeff, config.max_coeff);
}

}  // namespace

void check_lamb(const LambConfig& config) {
  const auto finite = [](double value) { return std::isfinite(static_cast<float>(value)); };
  check_option(finite(config.min_coeff) && config.min_coeff >= 0, "min-coeff", config.min_coeff, "at least 0");
  check_option(finite(config.max_coeff) && config.max_coeff > 0 && config.max_coeff >= config.min_coeff, "max-coeff",
               config.max_coeff, "above 0, finite, and at least optimizer.min-coeff");
  check_option(config.coeff_beta >= 0 && config.coeff_beta < 1, "coeff-beta", config.coeff_beta, "in [0, 1)");
  check_option(finite(config.factor_min) && config.factor_min >= 0, "factor-min", config.factor_min, "at least 0");
  check_option(finite(config.factor_max) && config.factor_max > 0 && config.factor_max >= config.factor_min,
               "factor-max", config.factor_max, "above 0, finite, and at least optimizer.factor-min");
  check_option(config.factor_threshold > 0 && config.factor_threshold < 1, "factor-threshold", config.factor_threshold,
               "in (0, 1)");
}

std::vector<double> lamb_update(AdamCore& core, const LambConfig& config, Index t, double lr, device::Buffer<float>& x,
                                StepReport& report) {
  core.average_dense(core.mean(), report);
  const AdamStep step = core.clipped_step(t, lr, report);
  device::Stopwatch watch(core.device());
  for_each(core.device(), core.parameters(),
           MomentKernel{step, core.momentum().data(), core.variance().data(), core.mean().data()});
  const TensorRule* rules = core.rules().data();
  const auto x_squares = core.tensor_sums(1, TensorSquareTerm{rules, x.data()});
  const auto u_squares =
      core.tensor_sums(1, DirectionTerm{step, rules, x.data(), core.momentum().data(), core.variance().data()});
  std::vector<double> ratios;
  std::transform(x_squares.begin(), x_squares.end(), u_squares.begin(), std::back_inserter(ratios),
                 [&config](double x_square, double u_square) { return trust_ratio(config, x_square, u_square); });
  core.set_coefficients(ratios);
  report.seconds.update += watch.lap();
  core.apply(step, /*mask=*/false, x, report);
  core.watch_variance(report);
  return ratios;
}

}  // namespace onebit::optim
