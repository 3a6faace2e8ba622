#pragma once
// Layers that rearrange and pool images. They have no tensors.

#include <memory>

#include "sim/layers/image/image_kernels.hpp"
#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Wraps a layer that reads [pixels][channels]: transposes images from [channels][pixels], the order of data sources.
class ChannelsLast final : public Layer {
 public:
  ChannelsLast(Index channels, std::unique_ptr<Layer> layer)
      : Layer(layer->inputs(), layer->outputs()), channels_(channels), layer_(std::move(layer)) {}

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override { return layer_->flops(reads_data); }
  bool replayable() const override { return layer_->replayable(); }
  void visit_state(device::StateVisitor& visitor) override { layer_->visit_state(visitor); }
  void end_step(const StepEnd& end) override { layer_->end_step(end); }

 private:
  Index pixels() const { return inputs() / channels_; }

  Index channels_;
  std::unique_ptr<Layer> layer_;
  device::Buffer<float> turned_;
};

/// Maximum over adjacent windows of pixels: [height][width][channels] to [height / window][width / window][channels],
/// rounded down.
class MaxPool final : public Layer {
 public:
  /// Throws Error if no window fits.
  explicit MaxPool(const PoolShape& shape);

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  PoolShape shape_;
};

/// The mean over all pixels: [pixels][channels] to [channels].
class GlobalAveragePool final : public Layer {
 public:
  GlobalAveragePool(Index pixels, Index channels)
      : Layer(pixels * channels, channels), pixels_(pixels), channels_(channels) {}

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  Index pixels_, channels_;
};

}  // namespace onebit::sim
