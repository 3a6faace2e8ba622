#include "experiments/stage_traffic.hpp"

#include <algorithm>

#include "device/buffer.hpp"
#include "device/device.hpp"
#include "optim/optimizer.hpp"

namespace onebit::experiments {
namespace {

/// Long enough for two periods of every stage.
constexpr Index kLeastSteps = 12;

optim::OptimizerConfig hurried(optim::OptimizerConfig config) {
  if (config.freeze.policy != "never") config.freeze.policy = "fixed:2";
  config.zeroone.var_freeze_step = std::min<Index>(config.zeroone.var_freeze_step, 2);
  config.zeroone.var_update_scaler = 1;
  return config;
}

}  // namespace

bool is_dense(const netmodel::TrafficList& exchanges) {
  return std::all_of(exchanges.begin(), exchanges.end(), [](const netmodel::Traffic& each) {
    return each.collective == netmodel::Collective::all_reduce && each.type == netmodel::WireType::fp32;
  });
}

void StageTraffic::add(netmodel::StepTraffic step) {
  if (runs.empty() || runs.back().traffic.exchanges != step.exchanges) runs.push_back({std::move(step), 0});
  ++runs.back().count;
}

Index StageTraffic::steps() const {
  Index sum = 0;
  for (const Run& run : runs) sum += run.count;
  return sum;
}

StageTraffic StageTraffic::sample(std::size_t most) const {
  if (runs.size() <= most) return *this;
  StageTraffic some{name, {}};
  for (std::size_t i = 0; i < most; ++i) some.runs.push_back(runs[i * runs.size() / most]);
  return some;
}

std::vector<StageTraffic> plan_stages(optim::OptimizerConfig config, Index workers, Index parameters) {
  config = hurried(config);
  const device::Device device = device::parse_devices("cpu", 1).front().plan();
  const Index steps = std::max(kLeastSteps, 2 * config.local.period + 2);
  const optim::Problem problem{device::whole(device, workers), {{"weights", parameters}}, steps};
  const auto optimizer = optim::make_optimizer(problem, config);
  const Index rows = optimizer->local_weights() ? workers : 1;
  device::Buffer<float> weights(device, rows * parameters);
  device::Buffer<float> gradients(device, workers * parameters);
  std::vector<StageTraffic> stages;
  for (Index step = 1; step <= steps; ++step) {
    optimizer->begin(step, config.lr);
    if (optimizer->wants_extra_gradients()) optimizer->absorb_extra({0, workers}, gradients.data(), parameters);
    optimizer->absorb({0, workers}, gradients.data(), parameters);
    const optim::StepReport report = optimizer->finish(weights);
    const std::string name(optim::name(report.phase));
    if (stages.empty() || stages.back().name != name) stages.push_back({name, {}});
    stages.back().add({report.traffic, is_dense(report.traffic) ? 0 : parameters});
  }
  return stages;
}

}  // namespace onebit::experiments
