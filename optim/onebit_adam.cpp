#include "optim/onebit_adam.hpp"

#include <chrono>
#include <cmath>

#include "device/error.hpp"
#include "device/launch.hpp"

namespace onebit::optim {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One worker in deepspeed semantics: the momentum stays what it is.
struct LocalMomentumKernel {
  float* momentum;
  const float* gradient;
  float beta1;
  const float* factor;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { momentum[i] = beta1 * momentum[i] + factor[0] * gradient[i]; }
};

std::vector<Index> zeros_of(const device::Buffer<float>& values) {
  std::vector<Index> zeros;
  const std::vector<float> host = values.to_host();
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (host[i] == 0.0f) zeros.push_back(static_cast<Index>(i));
  }
  return zeros;
}

}  // namespace

OnebitAdam::Compression::Compression(const Problem& problem, const OptimizerConfig& config)
    : layout(problem.device, problem.tensor_sizes, problem.workers, config.granularity,
             config.semantics == Semantics::deepspeed ? compress::Padding::as_data : compress::Padding::wire_only),
      up(compress::make_codec(config.codec)),
      down(compress::make_codec(config.codec_down.empty() ? config.codec : config.codec_down)),
      channel(problem.device, layout, *up, *down),
      worker_errors(problem.device, problem.workers * layout.state_size()),
      server_error(problem.device, layout.state_size()),
      factors(problem.device, problem.workers) {}

OnebitAdam::OnebitAdam(const Problem& problem, const OptimizerConfig& config)
    : problem_(problem), config_(config), core_(problem, config), phase_(deepspeed() ? Phase::dry_run : Phase::warmup) {
  if (!deepspeed() && core_.freeze_policy().kind() == FreezePolicy::Kind::fixed &&
      core_.freeze_policy().fixed_updates() < 1) {
    throw ConfigError("the variance cannot be frozen before the first update", "freeze " + config.freeze.policy,
                      "freeze after at least 1 dense update");
  }
}

StateView OnebitAdam::state() const {
  StateView view{.momentum = &core_.momentum(), .variance = &core_.variance()};
  if (compression_) {
    view.worker_errors = &compression_->worker_errors;
    view.error_stride = compression_->layout.state_size();
    view.server_error = &compression_->server_error;
    if (updates_ > frozen_updates_ && exchanges()) view.channel = &compression_->channel;
  }
  return view;
}

std::string OnebitAdam::unfulfilled() const {
  const FreezePolicy& policy = core_.freeze_policy();
  const bool compressed = phase_ == Phase::compression && updates_ > frozen_updates_;
  if (policy.kind() == FreezePolicy::Kind::never || compressed) return "";
  std::string text = "the run was asked to compress but never did (freeze " + config_.freeze.policy + ")";
  if (policy.kind() == FreezePolicy::Kind::automatic)
    text += ": the variance ratio reached the threshold too late or never";
  return text;
}

void OnebitAdam::do_begin() {
  squared_norms_ = 0;
  clipped_ = 0;
  codec_seconds_ = 0;
  events_.clear();
  if (compression_ && !config_.error_feedback) {
    compression_->worker_errors.zero();
    compression_->server_error.zero();
  }
}

void OnebitAdam::do_absorb(Range group, const float* gradients, Index stride) {
  if (phase_ == Phase::compression) {
    absorb_compressed(group, gradients, stride);
  } else {
    core_.absorb_dense(group, gradients, stride);
  }
}

void OnebitAdam::absorb_compressed(Range group, const float* gradients, Index stride) {
  Compression& c = *compression_;
  clip_group(group, gradients, stride);
  watch_masked(group, gradients, stride);
  const auto start = Clock::now();
  if (exchanges()) {
    c.channel.absorb(group,
                     {.shared = core_.momentum().data(),
                      .shared_factor = static_cast<float>(config_.beta1),
                      .rows = gradients,
                      .stride = stride,
                      .factors = c.factors.data()},
                     c.worker_errors);
  } else {
    const LocalMomentumKernel kernel{core_.momentum().data(), gradients, static_cast<float>(config_.beta1),
                                     c.factors.data()};
    problem_.device.run([&](const auto& queue) { for_each(queue, core_.parameters(), kernel); });
  }
  codec_seconds_ += seconds_since(start);
}

/// Every worker clips its own gradient by its own norm.
void OnebitAdam::clip_group(Range group, const float* gradients, Index stride) {
  std::vector<float> factors(static_cast<std::size_t>(group.count), static_cast<float>(1 - config_.beta1));
  if (core_.clips()) {
    const std::vector<double> squares = core_.sum(group.count, SquareTerm{gradients, stride});
    for (std::size_t g = 0; g < squares.size(); ++g) {
      const double factor = core_.clip_factor(std::sqrt(squares[g]));
      squared_norms_ += squares[g];
      clipped_ += factor < 1 ? 1 : 0;
      factors[g] = static_cast<float>((1 - config_.beta1) * factor);
    }
  }
  compression_->factors.upload(factors);
}

/// A masked coordinate that receives a gradient after all is reported once.
void OnebitAdam::watch_masked(Range group, const float* gradients, Index stride) {
  Compression& c = *compression_;
  if (c.masked.size() == 0 || c.masked_gradient_seen) return;
  device::Buffer<double> sums(problem_.device, group.count);
  const device::Chunks chunks(c.masked.size());
  const MaskedGradientTerm term{c.masked.data(), gradients, stride};
  problem_.device.run([&](const auto& queue) { reduce(queue, group.count, chunks, term, sums.data()); });
  const std::vector<double> counts = sums.to_host();
  for (std::size_t g = 0; g < counts.size() && !c.masked_gradient_seen; ++g) {
    if (counts[g] == 0) continue;
    c.masked_gradient_seen = true;
    events_.push_back({"masked", "worker " + std::to_string(group.first + static_cast<Index>(g)) +
                                     " has a gradient at " + std::to_string(static_cast<Index>(counts[g])) +
                                     " masked coordinates (v = 0 at the freeze): their momentum stays 0"});
  }
}

StepReport OnebitAdam::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.phase = phase_;
  switch (phase_) {
    case Phase::dry_run:
      core_.discard_dense(report);
      phase_ = Phase::warmup;
      break;
    case Phase::compression:
      finish_compression(parameters, report);
      break;
    default:
      finish_warmup(parameters, report);
  }
  report.masked = masked_;
  report.codec_seconds = codec_seconds_;
  report.events.insert(report.events.end(), events_.begin(), events_.end());
  return report;
}

void OnebitAdam::finish_warmup(device::Buffer<float>& parameters, StepReport& report) {
  core_.dense_update(++updates_, lr(), parameters, report);
  // DeepSpeed compares its step counter, which counted the dry run.
  if (core_.freeze_policy().freeze_now(deepspeed() ? step() : updates_, report.variance_ratio)) freeze(report);
}

void OnebitAdam::freeze(StepReport& report) {
  phase_ = Phase::compression;
  frozen_updates_ = updates_;
  compression_.emplace(problem_, config_);
  if (!deepspeed()) {
    const std::vector<Index> masked = zeros_of(core_.variance());
    masked_ = static_cast<Index>(masked.size());
    compression_->masked = device::Buffer<Index>(problem_.device, masked_);
    compression_->masked.upload(masked);
  }
  report.events.push_back({"freeze", "variance frozen after " + std::to_string(updates_) + " dense updates (freeze " +
                                         config_.freeze.policy + "), " + std::to_string(masked_) +
                                         " coordinates masked"});
}

void OnebitAdam::finish_compression(device::Buffer<float>& parameters, StepReport& report) {
  const auto start = Clock::now();
  if (exchanges()) {
    compression_->channel.exchange(compression_->server_error, core_.momentum().data(), report.traffic);
  }
  codec_seconds_ += seconds_since(start);
  const auto n = static_cast<double>(problem_.workers);
  if (core_.clips()) report.grad_norm = std::sqrt(squared_norms_ / n);
  report.clip_share = static_cast<double>(clipped_) / n;
  report.update_norm =
      core_.frozen_update(core_.numbers(++updates_, frozen_updates_, lr()), /*mask=*/!deepspeed(), parameters);
}

}  // namespace onebit::optim
