#include "analysis/pricing/stage_traffic.hpp"

#include <algorithm>

#include "compress/channels/exchange_pattern.hpp"
#include "device/base/error.hpp"
#include "device/base/system.hpp"
#include "device/base/text.hpp"
#include "device/device.hpp"
#include "device/memory/buffer.hpp"
#include "optim/optimizer.hpp"
#include "optim/stages.hpp"

namespace onebit::analysis {
namespace {

/// Minimum number of planned steps, which is large enough to pass the warm-up stages.
constexpr Index kLeastSteps = 12;
constexpr Index kLongestPeriod = 4096;

optim::OptimizerConfig with_early_freeze(optim::OptimizerConfig config) {
  if (config.freeze.policy != "never") config.freeze.policy = "fixed:2";
  config.exchange.dense_steps = std::min<Index>(config.exchange.dense_steps, 2);
  config.zeroone.var_freeze_step = std::min<Index>(config.zeroone.var_freeze_step, 2);
  config.zeroone.var_update_scaler = 1;
  config.zeroone.local_step_scaler = 1;  // the synchronisation interval doubles every step, up to the longest
  return config;
}

/// Returns the number of steps after which the last stage repeats itself.
Index period_of(const optim::OptimizerConfig& config) {
  const bool zeroone = config.name == "zeroone-adam";
  const Index period = zeroone ? config.zeroone.local_step_clipper : config.local.period;
  if (period < 1 || period > kLongestPeriod) {
    throw ConfigError("option out of range", zeroone ? "optimizer.local-step-clipper" : "optimizer.local-period",
                      "pricing supports values from 1 to " + std::to_string(kLongestPeriod));
  }
  return period;
}

/// Throws where the traffic depends on the data or the tensors, or cannot be planned for another reason.
void check_plannable(const optim::OptimizerConfig& config, Index parameters) {
  const bool compresses =
      config.name.find("adam") == std::string::npos && config.name.find("lamb") == std::string::npos;
  for (const compress::CodecConfig& codec : {config.exchange.up, compress::down_of(config.exchange)}) {
    if (!compresses || compress::make_codec(codec)->traits().fixed_volume) continue;
    throw ConfigError("what codec " + codec.name + " sends depends on the data and the tensors", "codec",
                      "train a small run and price its log");
  }
  if (config.name.starts_with("cada")) {
    throw ConfigError("what " + config.name + " sends depends on the data", "optimizer",
                      "train a small run and price its log");
  }
  if (config.variance_refresh > 0) {
    throw ConfigError("dense steps that refresh the variance cannot be planned", "optimizer.variance-refresh",
                      "train a small run and price its log");
  }
  const double bytes = 2 * sizeof(float) * static_cast<double>(parameters);
  if (bytes > static_cast<double>(device::available_memory())) {
    throw ConfigError("planning the exchanges of " + std::to_string(parameters) + " parameters takes " +
                          bytes_text(bytes) + " of memory, more than is available",
                      "step.parameters", "choose a smaller workload");
  }
}

/// Keeps only the last period of the last stage.
std::vector<StepRange> settled(std::vector<StepRange> steps, Index period) {
  const Index from = steps.back().last - period;
  const optim::Phase last = steps.back().phase;
  std::erase_if(steps, [&](const StepRange& step) { return step.phase == last && step.first <= from; });
  return steps;
}

}  // namespace

std::vector<StageTraffic> plan_stages(optim::OptimizerConfig config, Index workers, Index parameters) {
  check_plannable(config, parameters);
  config = with_early_freeze(config);
  const device::Device device = device::parse_devices("cpu", 1).front().plan();
  const Index period = period_of(config);
  const Index steps = (kLeastSteps / period + 3) * period;
  constexpr Index far = Index{1} << 40;  // far away, because the last step of a run synchronises and is not typical
  const optim::Problem problem{device::whole(device, workers), {{"weights", parameters}}, far};
  const auto optimizer = optim::make_optimizer(problem, config);
  const Index rows = optimizer->local_weights() ? workers : 1;
  device::Buffer<float> weights(device, rows * parameters);
  device::Buffer<float> gradients(device, workers * parameters);
  std::vector<StepRange> all;
  for (Index step = 1; step <= steps; ++step) {
    optimizer->begin(step, config.lr);
    optimizer->absorb({0, workers}, gradients.data(), parameters);
    const optim::StepReport report = optimizer->finish(weights);
    all.push_back({step, step, report.traffic, report.phase, optim::compresses(config.name, report.phase)});
  }
  return stages_of(settled(std::move(all), period), parameters);
}

}  // namespace onebit::analysis
