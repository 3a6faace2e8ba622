#include "analysis/pricing/stage_traffic.hpp"

#include <algorithm>

#include "compress/channels/exchange_pattern.hpp"
#include "device/base/error.hpp"
#include "device/device.hpp"
#include "device/memory/buffer.hpp"
#include "optim/optimizer.hpp"
#include "optim/read_options.hpp"
#include "optim/stages.hpp"

namespace onebit::analysis {
namespace {

using optim::OptimizerConfig;
using optim::StepCount;

/// Number of planned steps, enough for an optimizer with short stages to take every kind of step.
constexpr Index kPlannedSteps = 12;
constexpr Index kShortStage = 2;
/// Largest number of steps in a schedule; they are counted one by one.
constexpr Index kMostSteps = 100'000'000;
/// Largest number of elements of all workers together. Their buffers have addresses, but no memory.
constexpr double kMostElements = 0x1p56;

OptimizerConfig with_short_stages(OptimizerConfig config) {
  if (config.freeze.policy != "never") config.freeze.policy = "fixed:" + std::to_string(kShortStage);
  config.exchange.dense_steps = std::min(config.exchange.dense_steps, kShortStage);
  config.ramp = std::min(config.ramp, kShortStage);
  config.no_decay.clear();      // its patterns do not match the single vector
  config.variance_floor = "0";  // needs the values of the whole variance
  config.local.period = kShortStage;
  config.zeroone = {.var_freeze_step = kShortStage,
                    .var_update_scaler = 1,
                    .local_step_scaler = 1,
                    .local_step_clipper = kShortStage};
  return config;
}

std::vector<compress::CodecConfig> used_codecs(const OptimizerConfig& config) {
  if (optim::codecs_of(config) == optim::Codecs::none) return {};
  return {config.exchange.up, compress::down_of(config.exchange)};
}

netmodel::CodecPasses encoding_passes(const OptimizerConfig& config) {
  return used_codecs(config).empty() ? netmodel::CodecPasses{} : compress::passes_of(config.exchange);
}

/// Whether what a step sends depends on the tensors' shapes.
bool needs_shapes(const OptimizerConfig& config) {
  return std::ranges::any_of(used_codecs(config),
                             [](const auto& codec) { return compress::make_codec(codec)->traits().shaped; });
}

[[noreturn]] void refuse(const std::string& reason, const std::string& where) {
  throw ConfigError(reason, where, "carry out a small training run and price its log");
}

/// Throws if the traffic depends on the data or on unknown shapes, or cannot be planned for another reason.
void check_plannable(const TrafficPlan& plan) {
  const OptimizerConfig& config = plan.optimizer;
  for (const compress::CodecConfig& codec : used_codecs(config)) {
    if (compress::make_codec(codec)->variable_size())
      refuse("how much codec " + codec.name + " sends depends on the data", "codec");
  }
  if (needs_shapes(config) && plan.tensors.empty()) {
    throw ConfigError(
        "how much codec " + config.exchange.up.name + " sends depends on the tensors' shapes", "codec",
        "choose a workload with known tensors (e.g. bert-large), or carry out a small training run and price its log");
  }
  if (optim::takes_option(config.name, "cada-threshold"))
    refuse("how much " + config.name + " sends depends on the data", "optimizer");
  if (config.variance_refresh > 0)
    refuse("dense steps that refresh the variance cannot be planned", "optimizer.variance-refresh");
  if (static_cast<double>(plan.workers) * static_cast<double>(plan.parameters) > kMostElements) {
    throw ConfigError("too many parameters over all workers",
                      std::to_string(plan.workers) + " workers, " + std::to_string(plan.parameters) + " parameters",
                      "pricing supports at most 2^56 in total");
  }
}

std::vector<compress::Tensor> tensors_of(const TrafficPlan& plan) {
  if (!needs_shapes(plan.optimizer)) return {{"weights", plan.parameters}};
  std::vector<compress::Tensor> tensors;
  for (const netmodel::TensorShape& tensor : plan.tensors) tensors.push_back({tensor.name, tensor.size(), tensor.rows});
  return tensors;
}

/// A planned step.
struct Step {
  StepRange range;
  bool synchronised;
};

/// Returns the first steps of a run with short stages.
std::vector<Step> first_steps(const TrafficPlan& plan) {
  const OptimizerConfig config = with_short_stages(plan.optimizer);
  const device::Device device = device::parse_devices("cpu", 1).front().plan();
  constexpr Index far = Index{1} << 40;  // far away, because the last step of a run synchronises and is not typical
  const optim::Problem problem{device::whole(device, plan.workers), tensors_of(plan), far};
  const auto optimizer = optim::make_optimizer(problem, config);
  const Index rows = optimizer->local_weights() ? plan.workers : 1;
  device::Buffer<float> weights(device, rows * plan.parameters);
  device::Buffer<float> gradients(device, plan.workers * plan.parameters);
  std::vector<Step> steps;
  for (Index step = 1; step <= kPlannedSteps; ++step) {
    optimizer->begin(step, config.lr);
    optimizer->absorb({0, plan.workers}, gradients.data(), plan.parameters);
    const optim::StepReport report = optimizer->finish(weights);
    steps.push_back({{step, step, report.traffic, report.phase, optim::compresses(config.name, report.phase),
                      optim::exchanges_gradients(config.name, report.phase)},
                     report.synchronised});
  }
  return steps;
}

/// Returns the steps of the first stages and one step of the last, whose first steps may not be typical.
std::vector<StepRange> settled(const std::vector<Step>& steps) {
  std::vector<StepRange> ranges;
  for (const Step& step : steps) {
    if (step.range.phase != steps.back().range.phase) ranges.push_back(step.range);
  }
  ranges.push_back(steps.back().range);
  return ranges;
}

/// Returns ranges with the steps of a whole run, each kind of step as one range.
std::vector<StepRange> of_run(const std::vector<Step>& steps, const std::vector<StepCount>& counts) {
  std::vector<StepRange> ranges;
  Index last = 0;
  for (const StepCount& count : counts) {
    const auto same = [&](const Step& step) {
      return step.range.phase == count.phase && step.synchronised == count.synchronised;
    };
    const auto found = std::ranges::find_if(steps, same);
    if (found == steps.end())
      throw Error("the schedule contains a kind of step that does not occur among the first steps");
    StepRange range = found->range;
    range.first = last + 1;
    range.last = last += count.steps;
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace

std::vector<StageTraffic> plan_stages(const TrafficPlan& plan) {
  check_plannable(plan);
  const Encoding encoding{plan.parameters, encoding_passes(plan.optimizer)};
  const optim::StepSchedule* schedule = optim::schedule_of(plan.optimizer.name);
  if (schedule == nullptr) return stages_of(settled(first_steps(plan)), encoding);
  if (plan.steps > kMostSteps) {
    throw ConfigError("the schedule has too many steps", std::to_string(plan.steps) + " steps",
                      "pricing supports at most 1e8; give a smaller --steps");
  }
  const std::vector<StepCount> counts = schedule->count(plan.optimizer, plan.steps);
  return stages_of(of_run(first_steps(plan), counts), encoding);
}

}  // namespace onebit::analysis
