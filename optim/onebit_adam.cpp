#include "optim/onebit_adam.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "device/error.hpp"
#include "device/launch.hpp"
#include "device/stopwatch.hpp"

namespace onebit::optim {
namespace {

std::vector<Index> zeros_of(const device::Buffer<float>& values) {
  std::vector<Index> zeros;
  const std::vector<float> host = values.to_host();
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (host[i] == 0.0f) zeros.push_back(static_cast<Index>(i));
  }
  return zeros;
}

/// The released code treats padding as data.
compress::ExchangeConfig exchange_of(const OptimizerConfig& config) {
  compress::ExchangeConfig exchange = config.exchange;
  if (config.semantics == Semantics::deepspeed) exchange.padding = compress::Padding::as_data;
  return exchange;
}

}  // namespace

OnebitAdam::Compression::Compression(const Problem& problem, const OptimizerConfig& config)
    : exchange(problem.shard, problem.tensors, exchange_of(config)),
      factors(problem.shard.device, problem.shard.own().count) {}

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
  if (compression_) view.exchange = &compression_->exchange;
  view.exchanged = compression_ && updates_ > frozen_updates_ && exchanges();
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
  squared_norms_.clear();
  first_masked_ = {};
  encode_seconds_ = 0;
  if (compression_) compression_->exchange.begin(step());
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
  device::Stopwatch watch(device());
  if (exchanges()) {
    c.exchange.absorb(group, {.shared = core_.momentum().data(),
                              .shared_factor = static_cast<float>(config_.beta1),
                              .rows = gradients,
                              .stride = stride,
                              .factors = c.factors.data()});
  } else {
    const LocalMomentumKernel kernel{core_.momentum().data(), gradients, static_cast<float>(config_.beta1),
                                     c.factors.data()};
    for_each(device(), core_.parameters(), kernel);
  }
  encode_seconds_ += watch.lap();
}

/// Every worker clips its own gradient by its own norm.
void OnebitAdam::clip_group(Range group, const float* gradients, Index stride) {
  std::vector<float> factors(static_cast<std::size_t>(group.count), static_cast<float>(1 - config_.beta1));
  if (core_.clips()) {
    const std::vector<double> squares = core_.sum(group.count, SquareTerm{gradients, stride});
    for (std::size_t g = 0; g < squares.size(); ++g) {
      factors[g] = static_cast<float>((1 - config_.beta1) * core_.clip_factor(std::sqrt(squares[g])));
    }
    squared_norms_.insert(squared_norms_.end(), squares.begin(), squares.end());
  }
  compression_->factors.upload(factors);
}

/// Looks for a masked coordinate that receives a gradient after all.
void OnebitAdam::watch_masked(Range group, const float* gradients, Index stride) {
  Compression& c = *compression_;
  if (!watches_masked() || first_masked_.count > 0) return;
  device::Buffer<double> sums(device(), group.count);
  reduce(device(), group.count, device::Chunks(c.masked.size()), MaskedGradientTerm{c.masked.data(), gradients, stride},
         sums.data());
  const std::vector<double> counts = sums.to_host();
  const auto found = std::find_if(counts.begin(), counts.end(), [](double count) { return count > 0; });
  if (found != counts.end()) first_masked_ = {group.first + (found - counts.begin()), *found};
}

/// It is reported once in a run, of the first worker on any device.
void OnebitAdam::report_masked(StepReport& report) {
  if (!watches_masked()) return;
  const std::array<double, 2> own = {static_cast<double>(first_masked_.worker), first_masked_.count};
  const std::vector<double> all = problem_.shard.exchange->all_gather(own);
  for (std::size_t i = 0; i < all.size() && !compression_->masked_gradient_seen; i += 2) {
    if (all[i + 1] == 0) continue;
    compression_->masked_gradient_seen = true;
    report.events.push_back({"masked", "worker " + std::to_string(static_cast<Index>(all[i])) + " has a gradient at " +
                                           std::to_string(static_cast<Index>(all[i + 1])) +
                                           " masked coordinates (v = 0 at the freeze): their momentum stays 0"});
  }
}

StepReport OnebitAdam::do_finish(device::Buffer<float>& parameters) {
  StepReport report;
  report.phase = phase_;
  switch (phase_) {
    case Phase::dry_run:
      core_.average_dense(report);
      phase_ = Phase::warmup;
      break;
    case Phase::compression:
      finish_compression(parameters, report);
      break;
    default:
      finish_warmup(parameters, report);
  }
  report.masked = masked_;
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
    compression_->masked = device::Buffer<Index>::copy_of(device(), masked);
  }
  report.events.push_back({"freeze", "variance frozen after " + std::to_string(updates_) + " dense updates (freeze " +
                                         config_.freeze.policy + "), " + std::to_string(masked_) +
                                         " coordinates masked"});
}

void OnebitAdam::finish_compression(device::Buffer<float>& parameters, StepReport& report) {
  report.seconds.encode = encode_seconds_;
  if (exchanges()) {
    const compress::ExchangeSeconds seconds = compression_->exchange.exchange(core_.momentum().data(), report.traffic);
    report.seconds.exchange = seconds.exchange;
    report.seconds.server = seconds.server;
  }
  report_clipping(report);
  report_masked(report);
  device::Stopwatch watch(device());
  report.update_norm =
      core_.frozen_update(core_.numbers(++updates_, frozen_updates_, lr()), /*mask=*/!deepspeed(), parameters);
  report.seconds.update = watch.lap();
}

/// Norms of the workers' gradients, known only where clipping asks for them.
void OnebitAdam::report_clipping(StepReport& report) const {
  if (!core_.clips()) return;
  const std::vector<double> squares = problem_.shard.exchange->all_gather(squared_norms_);
  const auto n = static_cast<double>(squares.size());
  const auto clipped = std::count_if(squares.begin(), squares.end(),
                                     [&](double square) { return core_.clip_factor(std::sqrt(square)) < 1; });
  report.grad_norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) / n);
  report.clip_share = static_cast<double>(clipped) / n;
}

}  // namespace onebit::optim
