#include "experiments/stage_traffic.hpp"

#include <algorithm>

#include "device/buffer.hpp"
#include "device/device.hpp"
#include "device/error.hpp"
#include "device/system.hpp"
#include "device/text.hpp"
#include "optim/optimizer.hpp"

namespace onebit::experiments {
namespace {

/// Past the warm-up stages.
constexpr Index kLeastSteps = 12;
constexpr Index kLongestPeriod = 4096;
/// Kinds of steps that a period may have and still be counted by kind.
constexpr std::size_t kKinds = 16;

optim::OptimizerConfig hurried(optim::OptimizerConfig config) {
  if (config.freeze.policy != "never") config.freeze.policy = "fixed:2";
  config.zeroone.var_freeze_step = std::min<Index>(config.zeroone.var_freeze_step, 2);
  config.zeroone.var_update_scaler = 1;
  config.zeroone.local_step_scaler = 1;  // its interval of synchronisation doubles every step, up to the longest
  return config;
}

/// Steps after which the last stage repeats itself.
Index period_of(const optim::OptimizerConfig& config) {
  const bool zeroone = config.name == "zeroone-adam";
  const Index period = zeroone ? config.zeroone.local_step_clipper : config.local.period;
  if (period < 1 || period > kLongestPeriod) {
    throw ConfigError("option out of range", zeroone ? "optimizer.local-step-clipper" : "optimizer.local-period",
                      "from 1 to " + std::to_string(kLongestPeriod) + " where it is priced");
  }
  return period;
}

/// What sends as much as the data say, or needs to know the tensors, cannot be planned for one vector.
void check_plannable(const optim::OptimizerConfig& config, Index parameters) {
  const std::string& codec = config.exchange.up.name;
  const bool compresses =
      config.name.find("adam") == std::string::npos && config.name.find("lamb") == std::string::npos;
  for (const char* name : {"threshold", "dct", "power-sgd"}) {
    if (!compresses || (codec != name && config.exchange.down != name)) continue;
    throw ConfigError("what codec " + std::string(name) + " sends depends on the data and the tensors", "codec",
                      "train a small run and price its log");
  }
  if (config.name.starts_with("cada")) {
    throw ConfigError("what " + config.name + " sends depends on the data", "optimizer",
                      "train a small run and price its log");
  }
  const double bytes = 2 * sizeof(float) * static_cast<double>(parameters);
  if (bytes > static_cast<double>(device::available_memory())) {
    throw ConfigError("planning the exchanges of " + std::to_string(parameters) + " parameters takes " +
                          bytes_text(bytes) + " of memory",
                      "step.parameters", "a smaller workload");
  }
}

}  // namespace

bool is_dense(const netmodel::TrafficList& exchanges) {
  return std::all_of(exchanges.begin(), exchanges.end(), [](const netmodel::Traffic& each) {
    return each.collective == netmodel::Collective::all_reduce && each.type == netmodel::WireType::fp32;
  });
}

void StageTraffic::add(netmodel::StepTraffic step) {
  const auto recent = runs.end() - static_cast<std::ptrdiff_t>(std::min(runs.size(), kKinds));
  auto same = std::find_if(recent, runs.end(), [&](const Run& run) { return run.traffic.exchanges == step.exchanges; });
  if (same == runs.end()) same = runs.insert(runs.end(), {std::move(step), 0});
  ++same->count;
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
  check_plannable(config, parameters);
  config = hurried(config);
  const device::Device device = device::parse_devices("cpu", 1).front().plan();
  const Index period = period_of(config);
  const Index steps = (kLeastSteps / period + 3) * period;
  constexpr Index far = Index{1} << 40;  // the end of a run synchronises, which is no usual step
  const optim::Problem problem{device::whole(device, workers), {{"weights", parameters}}, far};
  const auto optimizer = optim::make_optimizer(problem, config);
  const Index rows = optimizer->local_weights() ? workers : 1;
  device::Buffer<float> weights(device, rows * parameters);
  device::Buffer<float> gradients(device, workers * parameters);
  std::vector<std::pair<std::string, netmodel::StepTraffic>> all;
  for (Index step = 1; step <= steps; ++step) {
    optimizer->begin(step, config.lr);
    optimizer->absorb({0, workers}, gradients.data(), parameters);
    const optim::StepReport report = optimizer->finish(weights);
    all.emplace_back(optim::name(report.phase),
                     netmodel::StepTraffic{report.traffic, is_dense(report.traffic) ? 0 : parameters});
  }
  std::vector<StageTraffic> stages;
  const std::string last = all.back().first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool settled = static_cast<Index>(i) >= steps - period;
    if (all[i].first == last && !settled) continue;  // of the last stage its last period
    if (stages.empty() || stages.back().name != all[i].first) stages.push_back({all[i].first, {}});
    stages.back().add(std::move(all[i].second));
  }
  return stages;
}

}  // namespace onebit::experiments
