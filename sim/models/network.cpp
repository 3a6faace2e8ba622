#include "sim/models/network.hpp"

#include <algorithm>

#include "device/base/error.hpp"
#include "device/launch/launch.hpp"
#include "device/launch/stopwatch.hpp"
#include "device/launch/sums.hpp"
#include "sim/layers/kernels.hpp"

namespace onebit::sim {
namespace {

/// Number of a worker's labels other than kNoLabel, at least 1.
Index label_count(const Batch& batch, Index worker) {
  const auto own = static_cast<std::ptrdiff_t>(batch.batch * batch.targets);
  const auto first = batch.labels.begin() + worker * own;
  return std::max<Index>(1, own - std::count(first, first + own, kNoLabel));
}

}  // namespace

Network::Network(const device::Device& device, Parameters parameters, std::unique_ptr<Layer> layers, Index targets,
                 EmbeddingBags* tables)
    : device_(device),
      parameters_(std::move(parameters)),
      layers_(std::move(layers)),
      targets_(targets),
      tables_(tables) {}

std::vector<compress::Tensor> Network::owned_tensors() const {
  return tables_ == nullptr ? std::vector<compress::Tensor>() : tables_->tensors();
}

void Network::visit_state(device::StateVisitor& visitor) {
  layers_->visit_state(visitor);
  replay_.forget();  // the state may have moved
}

Pass Network::pass_of(const Weights& weights, const Batch& batch) const {
  DrawPlace place = batch.place;
  place.step = -1;
  return {.device = device_,
          .weights = weights,
          .workers = batch.workers,
          .batch = batch.batch,
          .tokens = tokens_.data(),
          .freeze_running_stats = batch.freeze_running_stats,
          .place = place,
          .boundaries = batch.boundaries,
          .exchange_step = batch.place.step,
          .step = step_.data()};
}

/// Returns what the first layer reads.
const float* Network::input_of(const Batch& batch) const {
  return batch.on_device == nullptr ? input_.data() : batch.on_device;
}

/// Makes room and copies the batch to the device. scale: factor on the gradients.
void Network::load(const Weights& weights, const Batch& batch, float scale) {
  const Pass pass = pass_of(weights, batch);
  if (batch.on_device == nullptr && static_cast<Index>(batch.features.size()) != pass.examples() * layers_->inputs()) {
    throw Error("the batch lacks features", "Network");
  }
  const Index allocations = device_.memory().use().allocations;
  reserve(pass, batch);
  if (device_.memory().use().allocations != allocations) replay_.forget();
  input_.upload(batch.features);
  tokens_.upload(batch.tokens);
  labels_.upload(batch.labels);
  step_.upload({&batch.place.step, 1});
  load_factors(batch, scale);
}

void Network::reserve(const Pass& pass, const Batch& batch) {
  const Index examples = pass.examples();
  layers_->reserve(pass);
  grow(input_, device_, static_cast<Index>(batch.features.size()));
  grow(tokens_, device_, static_cast<Index>(batch.tokens.size()));
  grow(logits_, device_, examples * layers_->outputs());
  grow(labels_, device_, examples * targets_);
  grow(factors_, device_, pass.workers);
  grow(step_, device_, 1);
  grow(label_loss_, device_, examples * targets_);
  grow(correct_, device_, examples * targets_);
}

/// Sets each worker's factor on the gradients of its labels' losses.
void Network::load_factors(const Batch& batch, float scale) {
  label_counts_.clear();
  host_factors_.clear();
  for (Index worker = 0; worker < batch.workers; ++worker) {
    label_counts_.push_back(label_count(batch, worker));
    host_factors_.push_back(scale / static_cast<float>(label_counts_.back()));
  }
  factors_.upload(host_factors_);
}

/// Computes the loss of every label and, in place of the logits, the gradient with respect to them.
void Network::forward(const Pass& pass, const float* input) {
  layers_->forward(pass, input, logits_.data());
  take_losses(pass);
}

void Network::take_losses(const Pass& pass) {
  const CrossEntropyKernel kernel{layers_->outputs() / targets_,
                                  pass.batch * targets_,
                                  factors_.data(),
                                  labels_.data(),
                                  logits_.data(),
                                  label_loss_.data(),
                                  correct_.data()};
  for_each_item(device_, pass.examples() * targets_, kernel);
}

/// Returns a function that waits for the losses and computes the mean loss of every worker over its labels.
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

/// Launches half a pass, or replays it.
template <class Launch>
void Network::run(const HalfPass& half, const Launch& launch) {
  if (!layers_->replayable()) return launch();
  replay_.run(device_, half, launch);
}

GradientPass Network::gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) {
  GradientPass result;
  device::Stopwatch watch(device_);
  load(weights, batch, rows.scale);
  Pass pass = pass_of(weights, batch);
  pass.training = true;
  pass.gradients = rows;
  const float* input = input_of(batch);
  HalfPass half{.weights = weights,
                .rows = rows,
                .input = input,
                .workers = batch.workers,
                .batch = batch.batch,
                .freeze_running_stats = batch.freeze_running_stats,
                .seed = batch.place.seed,
                .first_worker = batch.place.first_worker,
                .first_draw = batch.place.first_draw};
  run(half, [&] { forward(pass, input); });
  result.losses = losses(batch);
  result.forward = watch.lap();
  half.backward = true;
  run(half, [&] { layers_->backward(pass, input, nullptr, logits_.data(), nullptr); });
  result.backward = watch.lap();
  return result;
}

double Network::gradient_flops(Index examples) const {
  return layers_->flops(true) * static_cast<double>(examples);
}

/// Adds the scores of the examples if there are exactly two classes.
void Network::add_scores(const Batch& batch, Evaluation& result) const {
  if (targets_ != 1 || layers_->outputs() != 2) return;
  const auto logits = logits_.fetch(2 * batch.rows());
  for (Index row = 0; row < batch.rows(); ++row)
    result.scores.push_back(logits.begin()[2 * row + 1] - logits.begin()[2 * row]);
  result.labels = batch.labels;
}

Evaluation Network::evaluate(const Weights& weights, const Batch& batch) {
  load(weights, batch, 1.0f);
  const Pass pass = pass_of(weights, batch);
  Evaluation result;
  layers_->forward(pass, input_of(batch), logits_.data());
  add_scores(batch, result);
  take_losses(pass);
  const Index labels = static_cast<Index>(batch.labels.size());
  const auto losses = label_loss_.fetch(labels);
  const auto hits = correct_.fetch(labels);
  const double* loss = losses.begin();
  const std::uint8_t* correct = hits.begin();
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    if (batch.labels[i] == kNoLabel) continue;
    result.loss += loss[i];
    result.correct += correct[i];
    ++result.examples;
  }
  return result;
}

}  // namespace onebit::sim
