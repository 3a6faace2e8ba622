#include "optim/adam/adam_core.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/launch/stopwatch.hpp"
#include "optim/common/tensor_table.hpp"
#include "optim/quirks.hpp"

namespace onebit::optim {
namespace {

/// Whether the value is positive and finite when converted to the float that the kernels use.
bool float_positive(double value) {
  const auto narrow = static_cast<float>(value);
  return std::isfinite(narrow) && narrow > 0;
}

/// Whether the value is in [0, 1), even when converted to the float that the kernels use.
bool below_one(double value) {
  return value >= 0 && static_cast<float>(value) < 1;
}

}  // namespace

void check_option(bool valid, const std::string& option, double value, const std::string& range) {
  if (!valid) throw ConfigError("optimizer option out of range", "optimizer." + option + " " + shortest(value), range);
}

void check_adam(const OptimizerConfig& config) {
  check_option(float_positive(config.lr), "lr", config.lr, "above 0 and finite in single precision");
  check_option(below_one(config.beta1), "beta1", config.beta1, "in [0, 1)");
  check_option(below_one(config.beta2), "beta2", config.beta2, "in [0, 1)");
  check_option(float_positive(config.eps), "eps", config.eps, "above 0 and finite in single precision");
  check_option(std::isfinite(static_cast<float>(config.weight_decay)) && config.weight_decay >= 0, "weight-decay",
               config.weight_decay, "at least 0");
  check_option(std::isfinite(config.clip) && config.clip >= 0, "clip", config.clip,
               "at least 0; 0 switches clipping off");
}

VarianceBias variance_bias(const OptimizerConfig& config) {
  return {config.beta2, config.bias_correction && !AdamQuirks::of(config).keeps_bias};
}

AdamStep adam_numbers(const OptimizerConfig& config, const VarianceBias& bias, Index t, Index variance_t, double lr) {
  AdamStep step;
  step.lr = static_cast<float>(lr);
  step.beta1 = static_cast<float>(config.beta1);
  step.one_minus_beta1 = static_cast<float>(1 - config.beta1);
  step.beta2 = static_cast<float>(config.beta2);
  step.one_minus_beta2 = static_cast<float>(1 - config.beta2);
  step.eps = static_cast<float>(config.eps);
  const double momentum_weight = bias.removed ? 1 - std::pow(config.beta1, static_cast<double>(t)) : 1;
  step.momentum_correction = static_cast<float>(1 / momentum_weight);
  step.root_correction = static_cast<float>(1 / std::sqrt(bias.weight(variance_t)));
  return step;
}

OptimizerConfig without_freeze(OptimizerConfig config) {
  config.freeze.policy = "never";
  return config;
}

AdamCore::AdamCore(const Problem& problem, const OptimizerConfig& config, Index dry_runs)
    : device_(problem.shard.device),
      config_(config),
      bias_(variance_bias(config)),
      policy_(config.freeze, problem.total_steps, problem.lr_warmup, config.beta2, dry_runs),
      stability_(policy_.lag(), bias_),
      parameters_(problem.parameters()),
      whole_(parameters_),
      tensors_(device_, compress::sizes_of(problem.tensors)),
      rules_(tensor_rules(problem, config)),
      device_rules_(device::Buffer<TensorRule>::copy_of(device_, rules_)),
      channel_(problem.shard, parameters_),
      clipping_(problem, config.clip),
      mean_(device_, parameters_),
      momentum_(device::Buffer<float>::zeros(device_, parameters_)),
      variance_(device::Buffer<float>::zeros(device_, parameters_)) {}

bool AdamCore::decays() const {
  return std::any_of(rules_.begin(), rules_.end(), [](const TensorRule& rule) { return rule.weight_decay > 0; });
}

void AdamCore::set_coefficients(const std::vector<double>& coefficients) {
  for (std::size_t t = 0; t < rules_.size(); ++t) rules_[t].coefficient = static_cast<float>(coefficients[t]);
  device_rules_.upload(rules_);
}

void AdamCore::visit_state(device::StateVisitor& visitor) {
  visitor.shared("momentum", momentum_);
  visitor.shared("variance", variance_);
  visitor.group("stability", [&] { stability_.visit_state(visitor); });
  visitor.group("freeze", [&] { policy_.visit_state(visitor); });
}

void AdamCore::absorb_dense(Range group, const float* rows, Index stride) {
  device::Stopwatch watch(device_);
  channel_.absorb(group, rows, stride);
  absorb_seconds_ += watch.lap();
}

void AdamCore::average_dense(device::Buffer<float>& mean, StepReport& report) {
  device::Stopwatch watch(device_);
  channel_.exchange(mean.data(), report.traffic);
  report.seconds.encode = std::exchange(absorb_seconds_, 0);
  report.seconds.exchange = watch.lap();
}

void AdamCore::dense_update(Index t, double lr, device::Buffer<float>& x, StepReport& report) {
  average_dense(mean_, report);
  update(clipped_step(t, lr, report), x, report);
}

AdamStep AdamCore::clipped_step(Index t, double lr, StepReport& report) {
  device::Stopwatch watch(device_);
  AdamStep step = numbers(t, t, lr);
  step.gradient_factor = clipping_.factor(mean_);
  clipping_.report(report);
  report.seconds.update += watch.lap();
  return step;
}

void AdamCore::update(const AdamStep& step, device::Buffer<float>& x, StepReport& report) {
  device::Stopwatch watch(device_);
  const AdamKernel kernel{step, device_rules_.data(), x.data(), momentum_.data(), variance_.data(), mean_.data()};
  report.update_norm = norm_of(tensor_sums(1, kernel));
  watch_variance(report);
  report.seconds.update += watch.lap();
}

void AdamCore::apply(const AdamStep& step, bool mask, device::Buffer<float>& x, StepReport& report,
                     const std::optional<device::SignVector>& packed, const std::uint8_t* moving) {
  device::Stopwatch watch(device_);
  const MoveKernel kernel{step, device_rules_.data(), mask, x.data(), momentum_.data(), variance_.data(), moving};
  report.update_norm = norm_of(packed ? sums(device_, tensors_, *packed, kernel) : tensor_sums(1, kernel));
  report.seconds.update += watch.lap();
}

Denominator AdamCore::denominator(const device::Buffer<float>& variance, Index variance_t) const {
  const AdamStep step = numbers(variance_t, variance_t, 0);
  return {&variance, step.root_correction, step.eps};
}

void AdamCore::watch_variance(StepReport& report) {
  report.stability = stability_.push(sums(device_, 1, whole_, AbsoluteTerm{variance_.data()})[0]);
}

}  // namespace onebit::optim
