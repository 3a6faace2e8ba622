#include "sim/models/network.hpp"

#include <algorithm>

#include "device/error.hpp"
#include "device/launch.hpp"
#include "device/stopwatch.hpp"
#include "device/sums.hpp"
#include "sim/layers/kernels.hpp"

namespace onebit::sim {
namespace {

/// Labels of a worker at which something is to be predicted, at least 1.
Index label_count(const Batch& batch, Index worker) {
  const auto own = static_cast<std::ptrdiff_t>(batch.batch * batch.targets);
  const auto first = batch.labels.begin() + worker * own;
  return std::max<Index>(1, own - std::count(first, first + own, kNoLabel));
}

}  // namespace

Network::Network(const device::Device& device, Parameters parameters, std::unique_ptr<Layer> layers, Index targets)
    : device_(device), parameters_(std::move(parameters)), layers_(std::move(layers)), targets_(targets) {}

Pass Network::pass_of(const Weights& weights, const Batch& batch) const {
  return {.device = device_,
          .weights = weights,
          .workers = batch.workers,
          .batch = batch.batch,
          .tokens = tokens_.data(),
          .again = batch.again,
          .place = batch.place};
}

/// Makes room and copies the batch to the device.
void Network::load(const Pass& pass, const Batch& batch) {
  const Index examples = pass.examples();
  if (batch.on_device == nullptr && static_cast<Index>(batch.features.size()) != examples * layers_->inputs()) {
    throw Error("a batch without its features", "Network");
  }
  layers_->reserve(pass);
  grow(input_, device_, static_cast<Index>(batch.features.size()));
  grow(tokens_, device_, static_cast<Index>(batch.tokens.size()));
  grow(logits_, device_, examples * layers_->outputs());
  grow(labels_, device_, examples * targets_);
  grow(factors_, device_, pass.workers);
  grow(label_loss_, device_, examples * targets_);
  grow(correct_, device_, examples * targets_);
  input_.upload(batch.features);
  tokens_.upload(batch.tokens);
  labels_.upload(batch.labels);
}

/// Returns what the first layer reads.
const float* Network::forward(const Pass& pass, const Batch& batch) {
  const float* input = batch.on_device == nullptr ? input_.data() : batch.on_device;
  layers_->forward(pass, input, logits_.data());
  return input;
}

/// Turns the logits into the gradient of `scale` times each worker's loss by them.
void Network::cross_entropy(const Pass& pass, const Batch& batch, float scale) {
  label_counts_.clear();
  host_factors_.clear();
  for (Index worker = 0; worker < pass.workers; ++worker) {
    label_counts_.push_back(label_count(batch, worker));
    host_factors_.push_back(scale / static_cast<float>(label_counts_.back()));
  }
  factors_.upload(host_factors_);
  const CrossEntropyKernel kernel{layers_->outputs() / targets_,
                                  pass.batch * targets_,
                                  factors_.data(),
                                  labels_.data(),
                                  logits_.data(),
                                  label_loss_.data(),
                                  correct_.data()};
  for_each_item(device_, pass.examples() * targets_, kernel);
}

/// Of every worker over its labels, once they are known.
std::function<std::vector<double>()> Network::losses(const Batch& batch) const {
  const Index own = batch.batch * targets_;
  return [sums = sums(device_, batch.workers, device::Chunks(own), LabelLossTerm{label_loss_.data(), own}),
          counts = label_counts_] {
    std::vector<double> losses = sums;
    for (std::size_t worker = 0; worker < losses.size(); ++worker)
      losses[worker] /= static_cast<double>(counts[worker]);
    return losses;
  };
}

GradientPass Network::gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) {
  GradientPass result;
  device::Stopwatch watch(device_);
  load(pass_of(weights, batch), batch);
  Pass pass = pass_of(weights, batch);
  pass.training = true;
  pass.gradients = rows;
  const float* input = forward(pass, batch);
  cross_entropy(pass, batch, rows.scale);
  result.losses = losses(batch);
  result.forward = watch.lap();
  layers_->backward(pass, input, nullptr, logits_.data(), nullptr);
  result.backward = watch.lap();
  return result;
}

double Network::gradient_flops(Index examples) const {
  return layers_->flops(true) * static_cast<double>(examples);
}

Evaluation Network::evaluate(const Weights& weights, const Batch& batch) {
  load(pass_of(weights, batch), batch);
  const Pass pass = pass_of(weights, batch);
  forward(pass, batch);
  cross_entropy(pass, batch, 1.0f);
  const Index labels = static_cast<Index>(batch.labels.size());
  const auto losses = label_loss_.fetch(labels);
  const auto hits = correct_.fetch(labels);
  const double* loss = losses.begin();
  const std::uint8_t* correct = hits.begin();
  Evaluation result;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    if (batch.labels[i] == kNoLabel) continue;
    result.loss += loss[i];
    result.correct += correct[i];
    ++result.examples;
  }
  return result;
}

}  // namespace onebit::sim
