#include "optim/sgd/dgc.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/launch/launch.hpp"
#include "optim/sgd/dgc_kernels.hpp"

namespace onebit::optim {
namespace {

constexpr double kFirstDensity = 0.25;

compress::ExchangeConfig exchange_of(const OptimizerConfig& config) {
  compress::ExchangeConfig exchange = config.exchange;
  exchange.feedback = compress::Feedback::ef;
  require_feedback("dgc", config.exchange);
  return exchange;
}

}  // namespace

Dgc::Dgc(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method)
    : WorkerMomentumSgd(problem, config, method, {.decay = config.momentum, .nesterov = config.nesterov}),
      final_density_(method.exchange.up.k),
      ramp_(config.ramp) {
  const compress::Traits traits = exchange().up().traits();
  if (!traits.sparse || traits.linear) {
    throw ConfigError("dgc needs a sparse codec", "codec " + method.exchange.up.name, "use --codec top-k");
  }
  if (exchange().worker_errors().type() == compress::ErrorType::int8) {
    throw ConfigError("dgc treats elements without an error as sent, but int8 rounds small errors to 0",
                      "optimizer dgc, feedback.dtype int8", "use bf16, or leave out feedback.dtype");
  }
  if (ramp_ > 0 && !exchange().up().has_density()) {
    throw ConfigError("the ramp of dgc needs a codec that can send a given share of the elements",
                      "codec " + method.exchange.up.name + ", optimizer.ramp " + std::to_string(ramp_),
                      "use --codec top-k, or leave out --optimizer.ramp");
  }
  if (ramp_ > 0 && final_density_ >= 1) {
    throw ConfigError("the ramp of dgc needs codec.k as a share of the elements, not as a number",
                      "codec.k " + shortest(final_density_) + ", optimizer.ramp " + std::to_string(ramp_),
                      "set --codec.k below 1, or leave out --optimizer.ramp");
  }
}

double Dgc::density(Index step, Index ramp, double final) {
  if (step > ramp) return final;
  const double first = std::max(kFirstDensity, final);
  return first * std::pow(final / first, static_cast<double>(step - 1) / static_cast<double>(ramp));
}

void Dgc::do_begin() {
  WorkerMomentumSgd::do_begin();
  if (ramp_ > 0 && step() <= ramp_ + 1) exchange().set_density(density(step(), ramp_, final_density_));
}

void Dgc::after_exchange() {
  const compress::SegmentTable& table = exchange().layout().worker();
  device::Buffer<double> sent(device(), own_workers() * table.count());
  exchange().worker_errors().read([&](Range rows, const float* errors) {
    reduce(device(), rows.count, table.real(),
           ForgetSentKernel{table.device_segments(), errors, exchange().error_stride(),
                            worker_momentum().data() + rows.first * parameters(), parameters()},
           sent.data() + rows.first * table.count());
  });
}

std::unique_ptr<Optimizer> make_dgc(const Problem& problem, const OptimizerConfig& config) {
  const double share = 1 / std::sqrt(static_cast<double>(problem.shard.workers()));
  return std::make_unique<Dgc>(problem, config,
                               SgdMethod{.exchange = exchange_of(config), .clip = config.clip * share});
}

}  // namespace onebit::optim
