#include "sim/models/feed_forward.hpp"

#include <cmath>

#include "device/gemm.hpp"
#include "device/launch.hpp"
#include "device/philox.hpp"
#include "device/stopwatch.hpp"

namespace onebit::sim {

using device::Buffer;

FeedForward::FeedForward(const device::Device& device, FeedForwardShape shape)
    : device_(device), shape_(std::move(shape)) {
  if (shape_.vocabulary > 0) add_tensor("embedding", shape_.vocabulary, shape_.embedding);
  const std::size_t count = shape_.widths.size() - 1;
  for (std::size_t l = 0; l < count; ++l) {
    const std::string prefix = "layer" + std::to_string(l + 1);
    Layer layer{.inputs = shape_.widths[l],
                .outputs = shape_.widths[l + 1],
                .weight = 0,
                .bias = 0,
                .activation = l + 1 < count ? shape_.activation : Activation::none,
                .pre = {},
                .post = {},
                .delta = {}};
    layer.weight = add_tensor(prefix + ".weight", layer.inputs, layer.outputs);
    layer.bias = add_tensor(prefix + ".bias", 1, layer.outputs);
    layers_.push_back(std::move(layer));
  }
}

Index FeedForward::add_tensor(const std::string& name, Index rows, Index columns) {
  const Index offset = tensors_.empty() ? 0 : tensors_.back().offset + tensors_.back().size;
  tensors_.push_back({name, offset, rows * columns, rows});
  return offset;
}

std::vector<float> FeedForward::initial_weights(std::uint32_t seed) const {
  std::vector<float> weights(static_cast<std::size_t>(parameters()), 0.0f);
  const device::RandomKey key{seed, device::Purpose::initialization};
  const auto fill = [&](Index offset, Index size, double deviation) {
    for (Index i = offset; i < offset + size; ++i) {
      weights[static_cast<std::size_t>(i)] =
          static_cast<float>(deviation * static_cast<double>(device::normal(key, {.element = i})));
    }
  };
  if (shape_.vocabulary > 0) fill(0, tensors_[0].size, 1.0);
  for (const Layer& layer : layers_) {
    const double gain = layer.activation == Activation::none ? 1.0 : 2.0;
    fill(layer.weight, layer.inputs * layer.outputs, std::sqrt(gain / static_cast<double>(layer.inputs)));
  }
  return weights;
}

/// Grows the buffers to a number of rows. What padding rows hold reaches no other row.
void FeedForward::reserve(Index rows) {
  if (rows <= rows_) return;
  rows_ = round_up(rows, device::kGemmRows);
  input_ = Buffer<float>(device_, rows_ * shape_.widths.front());
  if (shape_.vocabulary > 0) {
    input_delta_ = Buffer<float>(device_, rows_ * shape_.widths.front());
    tokens_ = Buffer<std::uint8_t>(device_, rows_ * shape_.context);
  }
  labels_ = Buffer<std::int32_t>(device_, rows_);
  row_loss_ = Buffer<double>(device_, rows_);
  row_correct_ = Buffer<std::uint8_t>(device_, rows_);
  for (Layer& layer : layers_) {
    for (Buffer<float>* buffer : {&layer.pre, &layer.post, &layer.delta}) {
      *buffer = Buffer<float>(device_, rows_ * layer.outputs);
    }
  }
}

void FeedForward::load(const Batch& batch) {
  reserve(batch.rows());
  labels_.upload(batch.labels);
  if (shape_.vocabulary > 0) {
    tokens_.upload(batch.tokens);
  } else {
    input_.upload(batch.features);
  }
}

void FeedForward::forward(const Weights& weights, const Batch& batch) {
  load(batch);
  if (shape_.vocabulary > 0) {
    const EmbedKernel kernel{batch.batch,  shape_.context, shape_.embedding, tokens_.data(),
                             weights.data, weights.stride, input_.data()};
    for_each_row(device_, batch.rows(), shape_.widths.front(), kernel);
  }
  const Buffer<float>* input = &input_;
  for (Layer& layer : layers_) {
    forward_layer(weights, batch, *input, layer);
    input = &layer.post;
  }
}

void FeedForward::forward_layer(const Weights& weights, const Batch& batch, const Buffer<float>& input, Layer& layer) {
  const bool shared = weights.stride == 0;
  const Index rows = shared ? round_up(batch.rows(), device::kGemmRows) : batch.batch;
  device::gemm_batched(device_, {.m = rows, .n = layer.outputs, .k = layer.inputs},
                       {input.data(), layer.inputs, batch.batch * layer.inputs},
                       {weights.data + layer.weight, layer.outputs, weights.stride},
                       {layer.pre.data(), layer.outputs, batch.batch * layer.outputs}, shared ? 1 : batch.workers);
  const BiasActivationKernel kernel{layer.activation, batch.batch,      layer.outputs,    weights.data + layer.bias,
                                    weights.stride,   layer.pre.data(), layer.post.data()};
  for_each_row(device_, batch.rows(), layer.outputs, kernel);
}

/// Turns the logits into the gradient of each worker's mean loss by them.
void FeedForward::cross_entropy(const Batch& batch) {
  Layer& top = layers_.back();
  const CrossEntropyKernel kernel{top.outputs,      1.0f / static_cast<float>(batch.batch),
                                  labels_.data(),   top.post.data(),
                                  row_loss_.data(), row_correct_.data()};
  for_each_item(device_, batch.rows(), kernel);
}

GradientSeconds FeedForward::gradients(const Weights& weights, const Batch& batch, const GradientRows& rows,
                                       std::span<double> losses) {
  GradientSeconds seconds;
  device::Stopwatch watch(device_);
  forward(weights, batch);
  cross_entropy(batch);
  std::vector<double> row_loss(static_cast<std::size_t>(batch.rows()));
  row_loss_.download(row_loss);
  for (std::size_t worker = 0; worker < losses.size(); ++worker) {
    const auto size = static_cast<std::size_t>(batch.batch);
    double sum = 0;
    for (std::size_t b = worker * size; b < (worker + 1) * size; ++b) sum += row_loss[b];
    losses[worker] = sum / static_cast<double>(batch.batch);
  }
  seconds.forward = watch.lap();
  backward(weights, batch, rows);
  seconds.backward = watch.lap();
  return seconds;
}

void FeedForward::backward(const Weights& weights, const Batch& batch, const GradientRows& rows) {
  // The top layer has no activation: its delta is what cross_entropy left in `post`.
  std::swap(layers_.back().post, layers_.back().delta);
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    weight_gradients(batch, l > 0 ? layers_[l - 1].post : input_, layer, rows);
    if (l > 0) {
      Layer& below = layers_[l - 1];
      input_gradient(weights, batch, layer, below.delta);
      const ActivationSlopeKernel kernel{below.activation, below.pre.data(), below.delta.data()};
      for_each(device_, batch.rows() * below.outputs, kernel);
    } else if (shape_.vocabulary > 0) {
      input_gradient(weights, batch, layer, input_delta_);
      const EmbedGradientKernel kernel{batch.batch,    shape_.context,      shape_.embedding, shape_.vocabulary,
                                       tokens_.data(), input_delta_.data(), rows.data,        rows.stride};
      for_each_row(device_, batch.workers, shape_.embedding, kernel);
    }
  }
}

void FeedForward::weight_gradients(const Batch& batch, const Buffer<float>& input, const Layer& layer,
                                   const GradientRows& rows) {
  device::gemm_batched(device_, {.m = layer.inputs, .n = layer.outputs, .k = batch.batch, .transpose_a = true},
                       {input.data(), layer.inputs, batch.batch * layer.inputs},
                       {layer.delta.data(), layer.outputs, batch.batch * layer.outputs},
                       {rows.data + layer.weight, layer.outputs, rows.stride}, batch.workers);
  const BiasGradientKernel kernel{batch.batch, layer.outputs, layer.delta.data(), rows.data + layer.bias, rows.stride};
  for_each_row(device_, batch.workers, layer.outputs, kernel);
}

void FeedForward::input_gradient(const Weights& weights, const Batch& batch, const Layer& layer, Buffer<float>& delta) {
  const bool shared = weights.stride == 0;
  const Index rows = shared ? round_up(batch.rows(), device::kGemmRows) : batch.batch;
  device::gemm_batched(device_, {.m = rows, .n = layer.inputs, .k = layer.outputs, .transpose_b = true},
                       {layer.delta.data(), layer.outputs, batch.batch * layer.outputs},
                       {weights.data + layer.weight, layer.outputs, weights.stride},
                       {delta.data(), layer.inputs, batch.batch * layer.inputs}, shared ? 1 : batch.workers);
}

/// A layer's product forward, for its weights and, unless it reads the data, for its input.
double FeedForward::gradient_flops(Index examples) const {
  double flops = 0;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const bool reads_data = l == 0 && shape_.vocabulary == 0;
    flops += (reads_data ? 2 : 3) * 2.0 * static_cast<double>(layers_[l].inputs * layers_[l].outputs);
  }
  return flops * static_cast<double>(examples);
}

Evaluation FeedForward::evaluate(const Weights& weights, const Batch& batch) {
  forward(weights, batch);
  cross_entropy(batch);
  std::vector<double> loss(static_cast<std::size_t>(batch.rows()));
  std::vector<std::uint8_t> correct(loss.size());
  row_loss_.download(loss);
  row_correct_.download(correct);
  Evaluation result{.examples = batch.rows()};
  for (std::size_t row = 0; row < loss.size(); ++row) {
    result.loss += loss[row];
    result.correct += correct[row];
  }
  return result;
}

}  // namespace onebit::sim
