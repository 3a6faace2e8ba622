#pragma once

#include "sim/layers/kernels.hpp"
#include "sim/model.hpp"

namespace onebit::sim {

/// Widths of a feed-forward network. With a vocabulary the input is the embeddings of `context` tokens, side by side.
struct FeedForwardShape {
  std::vector<Index> widths;  ///< from input to logits, at least two
  Activation activation = Activation::relu;
  Index vocabulary = 0;  ///< 0: dense features
  Index context = 0;
  Index embedding = 0;
};

/// Dense layers with softmax cross-entropy on top: `softmax` (no hidden layer), `mlp`, and `ngram` (Bengio et al. 2003
/// without the direct connection: embeddings of the last bytes, a hidden layer, 256 logits).
///
/// Forward and input-gradient products run as one batch over all workers where weights are shared; only the
/// weight-gradient products are split by worker. Rows are padded to a multiple of kGemmRows, which makes a worker's
/// bits independent of its neighbours.
///
/// Initial weights: N(0, 2/inputs) before a ReLU or GELU, N(0, 1/inputs) before the logits, N(0, 1) embeddings, zero
/// biases.
class FeedForward final : public Model {
 public:
  FeedForward(const device::Device& device, FeedForwardShape shape);

  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  std::vector<float> initial_weights(std::uint32_t seed) const override;
  GradientSeconds gradients(const Weights& weights, const Batch& batch, const GradientRows& rows,
                            std::span<double> losses) override;
  double gradient_flops(Index examples) const override;
  Evaluation evaluate(const Weights& weights, const Batch& batch) override;

 private:
  struct Layer {
    Index inputs, outputs;
    Index weight, bias;  ///< offsets in the parameter vector
    Activation activation;
    device::Buffer<float> pre, post;  ///< [rows x outputs]
    device::Buffer<float> delta;      ///< gradient of the loss by pre
  };

  Index add_tensor(const std::string& name, Index rows, Index columns);
  void reserve(Index rows);
  void load(const Batch& batch);
  void forward(const Weights& weights, const Batch& batch);
  void forward_layer(const Weights& weights, const Batch& batch, const device::Buffer<float>& input, Layer& layer);
  void cross_entropy(const Batch& batch);
  void backward(const Weights& weights, const Batch& batch, const GradientRows& rows);
  void weight_gradients(const Batch& batch, const device::Buffer<float>& input, const Layer& layer,
                        const GradientRows& rows);
  void input_gradient(const Weights& weights, const Batch& batch, const Layer& layer, device::Buffer<float>& delta);

  device::Device device_;
  FeedForwardShape shape_;
  std::vector<TensorInfo> tensors_;
  std::vector<Layer> layers_;
  Index rows_ = 0;  ///< capacity of the buffers, a multiple of kGemmRows
  device::Buffer<float> input_, input_delta_;
  device::Buffer<std::uint8_t> tokens_;
  device::Buffer<std::int32_t> labels_;
  device::Buffer<double> row_loss_;
  device::Buffer<std::uint8_t> row_correct_;
};

}  // namespace onebit::sim
