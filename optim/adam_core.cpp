#include "optim/adam_core.hpp"

#include <cmath>
#include <utility>

#include "device/error.hpp"
#include "device/launch.hpp"
#include "device/stopwatch.hpp"
#include "device/text.hpp"

namespace onebit::optim {
namespace {

void check(bool valid, const std::string& option, double value, const std::string& range) {
  if (!valid) throw ConfigError("optimizer option out of range", "optimizer." + option + " " + shortest(value), range);
}

/// Positive and finite once it is the float that the kernels use.
bool float_positive(double value) {
  const auto narrow = static_cast<float>(value);
  return std::isfinite(narrow) && narrow > 0;
}

}  // namespace

void check_adam(const OptimizerConfig& config) {
  check(float_positive(config.lr), "lr", config.lr, "above 0 and finite in single precision");
  check(config.beta1 >= 0 && config.beta1 < 1, "beta1", config.beta1, "in [0, 1)");
  check(config.beta2 >= 0 && config.beta2 < 1, "beta2", config.beta2, "in [0, 1)");
  check(float_positive(config.eps), "eps", config.eps, "above 0 and finite in single precision");
  check(std::isfinite(config.weight_decay) && config.weight_decay >= 0, "weight-decay", config.weight_decay,
        "at least 0");
  check(std::isfinite(config.clip) && config.clip >= 0, "clip", config.clip, "at least 0; 0 switches clipping off");
}

AdamCore::AdamCore(const Problem& problem, const OptimizerConfig& config)
    : device_(problem.shard.device),
      config_(config),
      policy_(config.freeze, problem.total_steps, problem.lr_warmup, config.beta2,
              config.semantics == Semantics::deepspeed ? 1 : 0),
      stability_(policy_.lag()),
      parameters_(problem.parameters()),
      whole_(parameters_),
      channel_(problem.shard, parameters_),
      mean_(device_, parameters_),
      momentum_(device::Buffer<float>::zeros(device_, parameters_)),
      variance_(device::Buffer<float>::zeros(device_, parameters_)) {}

template <class Kernel>
std::vector<double> AdamCore::sum(Index rows, Kernel kernel) const {
  device::Buffer<double> sums(device_, rows);
  reduce(device_, rows, whole_, kernel, sums.data());
  return sums.to_host();
}

template std::vector<double> AdamCore::sum(Index, SquareTerm) const;

double AdamCore::clip_factor(double norm) const {
  return clips() && norm > config_.clip ? config_.clip / (norm + 1e-6) : 1.0;
}

AdamStep AdamCore::numbers(Index t, Index variance_t, double lr) const {
  const bool correct = config_.bias_correction && config_.semantics == Semantics::paper;
  const auto power = [](double base, Index exponent) { return std::pow(base, static_cast<double>(exponent)); };
  AdamStep step;
  step.lr = static_cast<float>(lr);
  step.beta1 = static_cast<float>(config_.beta1);
  step.one_minus_beta1 = static_cast<float>(1 - config_.beta1);
  step.beta2 = static_cast<float>(config_.beta2);
  step.one_minus_beta2 = static_cast<float>(1 - config_.beta2);
  step.eps = static_cast<float>(config_.eps);
  step.weight_decay = static_cast<float>(config_.weight_decay);
  step.momentum_correction = correct ? static_cast<float>(1 / (1 - power(config_.beta1, t))) : 1.0f;
  step.root_correction =
      correct && variance_t > 0 ? static_cast<float>(1 / std::sqrt(1 - power(config_.beta2, variance_t))) : 1.0f;
  return step;
}

void AdamCore::absorb_dense(Range group, const float* gradients, Index stride) {
  device::Stopwatch watch(device_);
  channel_.absorb(group, gradients, stride);
  absorb_seconds_ += watch.lap();
}

void AdamCore::dense_update(Index t, double lr, device::Buffer<float>& x, StepReport& report) {
  average_dense(report);
  device::Stopwatch watch(device_);
  report.grad_norm = std::sqrt(sum(1, SquareTerm{mean_.data(), 0})[0]);
  const double factor = clip_factor(report.grad_norm);
  report.clip_share = factor < 1 ? 1 : 0;
  AdamStep step = numbers(t, t, lr);
  step.gradient_factor = static_cast<float>(factor);
  report.update_norm =
      std::sqrt(sum(1, AdamKernel{step, x.data(), momentum_.data(), variance_.data(), mean_.data()})[0]);
  report.variance_ratio = stability_.push(sum(1, AbsoluteTerm{variance_.data()})[0]);
  report.seconds.update = watch.lap();
}

void AdamCore::average_dense(StepReport& report) {
  device::Stopwatch watch(device_);
  channel_.exchange(mean_.data(), report.traffic);
  report.seconds.encode = std::exchange(absorb_seconds_, 0);
  report.seconds.exchange = watch.lap();
}

double AdamCore::frozen_update(const AdamStep& step, bool mask, device::Buffer<float>& x) {
  return std::sqrt(sum(1, FrozenAdamKernel{step, mask, x.data(), momentum_.data(), variance_.data()})[0]);
}

}  // namespace onebit::optim
