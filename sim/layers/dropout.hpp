#pragma once
// Dropout: as a layer, and of a branch that is added to what it read.

#include <memory>

#include "sim/layers/dropout_kernels.hpp"
#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Where dropout happens in a network, and how much of it. Two sites of a network need two numbers.
struct DropoutSite {
  double rate = 0;  ///< share of the elements that become zero, in [0, 1)
  Index number = 0;

  bool active(const Pass& pass) const { return rate > 0 && pass.training; }
  /// Keeps everything where the site is not active.
  DropoutMask mask(const Pass& pass) const;
};

/// output = base + mask * input over `size` elements of every example; without a base 0.
void drop(const Pass& pass, const DropoutMask& mask, Index size, const float* base, const float* input, float* output);

/// output = mask * input.
class Dropout final : public Layer {
 public:
  Dropout(Index size, DropoutSite resources) : Layer(size, size), resources_(resources) {}

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  DropoutSite resources_;
};

/// output = input + mask * body(input).
class Branch final : public Layer {
 public:
  /// The body's outputs are as many as its inputs.
  Branch(std::unique_ptr<Layer> body, DropoutSite resources);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override { return body_->flops(reads_data); }
  void visit_state(device::StateVisitor& visitor) override { body_->visit_state(visitor); }

 private:
  std::unique_ptr<Layer> body_;
  DropoutSite resources_;
  device::Buffer<float> values_;  ///< what the body returned
};

}  // namespace onebit::sim
