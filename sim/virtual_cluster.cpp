#include "sim/virtual_cluster.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "device/error.hpp"
#include "device/text.hpp"

namespace onebit::sim {
namespace {

DataConfig data_config(const RunConfig& config) {
  DataConfig data = config.data;
  data.seed = config.seed;
  data.context = config.model.context;
  return data;
}

optim::ScheduleConfig schedule_config(const RunConfig& config, Index steps) {
  optim::ScheduleConfig schedule = config.schedule;
  schedule.total_steps = steps;
  return schedule;
}

optim::Problem problem_of(const RunConfig& config, const device::Device& device, const Model& model, Index steps) {
  optim::Problem problem{.device = device,
                         .tensor_sizes = {},
                         .workers = config.workers,
                         .total_steps = steps,
                         .lr_warmup = config.schedule.warmup};
  for (const TensorInfo& tensor : model.tensors()) problem.tensor_sizes.push_back(tensor.size);
  return problem;
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

VirtualCluster::VirtualCluster(const RunConfig& config)
    : config_((validate(config), config)),
      device_(device::Device::parse(config.device, config.threads)),
      data_(make_data(data_config(config))),
      model_(make_model(device_, config.model, *data_)),
      steps_(total_steps(config, data_->train_size())),
      schedule_(schedule_config(config, steps_)),
      optimizer_(make_optimizer(problem_of(config, device_, *model_, steps_), config.optimizer)),
      weights_(device_, model_->parameters()) {
  if (config_.worker_group == 0) config_.worker_group = config_.workers;
  gradients_ = device::Buffer<float>(device_, config_.worker_group * model_->parameters());
  weights_.upload(model_->initial_weights(config_.seed));
}

Index VirtualCluster::variance_lag() const {
  const optim::OptimizerConfig& optimizer = config_.optimizer;
  return optim::FreezePolicy({.policy = "never", .lag = optimizer.freeze.lag}, 1, 0, optimizer.beta2).lag();
}

StepOutcome VirtualCluster::advance() {
  StepOutcome outcome;
  outcome.step = ++step_;
  outcome.samples = step_ * config_.workers * config_.batch;
  outcome.lr = config_.optimizer.lr * schedule_.factor(step_);
  optimizer_->begin(step_, outcome.lr);
  for (Index first = 0; first < config_.workers; first += config_.worker_group) {
    outcome.compute_seconds += run_group({first, std::min(config_.worker_group, config_.workers - first)}, outcome);
  }
  const double sum = std::accumulate(outcome.worker_losses.begin(), outcome.worker_losses.end(), 0.0);
  outcome.loss = sum / static_cast<double>(config_.workers);
  outcome.report = optimizer_->finish(weights_);
  if (outcome.report.phase != optim::Phase::dry_run && !std::isfinite(outcome.report.update_norm)) {
    throw NumericError("the update is not finite: " + first_bad_tensor(), "step " + std::to_string(step_),
                       "lower the learning rate or clip gradients");
  }
  return outcome;
}

/// Samples, forward, backward, and hands the gradients over; returns the seconds before the optimizer.
double VirtualCluster::run_group(Range group, StepOutcome& outcome) {
  const auto start = std::chrono::steady_clock::now();
  data_->sample(step_, {group.first, group.count}, config_.batch, batch_);
  std::vector<double> losses(static_cast<std::size_t>(group.count));
  model_->gradients({weights_.data(), 0}, batch_, {gradients_.data(), model_->parameters()}, losses);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  outcome.worker_losses.insert(outcome.worker_losses.end(), losses.begin(), losses.end());
  for (std::size_t g = 0; g < losses.size(); ++g) {
    if (std::isfinite(losses[g])) continue;
    throw NumericError(
        "loss is not finite: " + first_bad_tensor(),
        "step " + std::to_string(step_) + ", worker " + std::to_string(group.first + static_cast<Index>(g)),
        "lower the learning rate or clip gradients");
  }
  optimizer_->absorb(group, gradients_.data(), model_->parameters());
  return elapsed.count();
}

std::string VirtualCluster::first_bad_tensor() const {
  const std::vector<float> weights = weights_.to_host();
  const std::vector<float> gradients = gradients_.to_host();
  const auto values_of = [](const std::vector<float>& values, std::size_t row_offset, const TensorInfo& tensor) {
    return std::span(values).subspan(row_offset + static_cast<std::size_t>(tensor.offset),
                                     static_cast<std::size_t>(tensor.size));
  };
  const std::vector<TensorInfo>& tensors = model_->tensors();
  for (const TensorInfo& tensor : tensors) {
    if (!all_finite(values_of(weights, 0, tensor))) return "tensor " + tensor.name + " went bad first";
  }
  // Backward passes reach the last tensor first.
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    for (std::size_t row = 0; row < gradients.size(); row += static_cast<std::size_t>(model_->parameters())) {
      if (!all_finite(values_of(gradients, row, *tensor)))
        return "the gradient of tensor " + tensor->name + " went bad first";
    }
  }
  const auto largest = [&](const TensorInfo& tensor) {
    float most = 0;
    for (float value : values_of(weights, 0, tensor)) most = std::max(most, std::fabs(value));
    return most;
  };
  const auto worst = std::max_element(tensors.begin(), tensors.end(), [&](const TensorInfo& a, const TensorInfo& b) {
    return largest(a) < largest(b);
  });
  return "the logits overflow, tensor " + worst->name + " has weights up to " +
         shortest(static_cast<double>(largest(*worst)));
}

Evaluation VirtualCluster::evaluate() {
  const Index block = std::min<Index>(256, config_.eval.examples);
  const Index size = data_->holdout_size();
  const Index blocks = std::max<Index>(1, std::min(config_.eval.examples, size) / block);
  const bool all = config_.eval.examples >= size;
  Evaluation total;
  Batch batch;
  for (Index b = 0; b < (all ? ceil_div(size, block) : blocks); ++b) {
    const Index first = all ? b * block : b * (size - block) / std::max<Index>(1, blocks - 1);
    data_->holdout(first, std::min(block, size - first), batch);
    const Evaluation part = model_->evaluate({weights_.data(), 0}, batch);
    total.loss += part.loss;
    total.correct += part.correct;
    total.examples += part.examples;
  }
  return total;
}

}  // namespace onebit::sim
