#pragma once
// Dropout as a layer, and on a residual branch.

#include <memory>

#include "sim/layers/dropout_kernels.hpp"
#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// A place in a network where dropout is applied, and its rate. Different sites of a network must have different
/// numbers.
struct DropoutSite {
  double rate = 0;  ///< share of the elements that become zero, in [0, 1)
  Index number = 0;

  bool active(const Pass& pass) const { return rate > 0 && pass.training; }
  /// Returns the mask of a pass, which keeps everything if the site is not active.
  DropoutMask mask(const Pass& pass) const;
};

/// Computes output = base + mask * input over `size` elements of every example; a null base counts as 0.
void drop(const Pass& pass, const DropoutMask& mask, Index size, const float* base, const float* input, float* output);

/// Computes output = mask * input.
class Dropout final : public Layer {
 public:
  Dropout(Index size, DropoutSite site) : Layer(size, size), site_(site) {}

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  DropoutSite site_;
};

/// Computes output = input + mask * body(input).
class Branch final : public Layer {
 public:
  /// Takes a body with as many outputs as inputs.
  Branch(std::unique_ptr<Layer> body, DropoutSite site);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override { return body_->flops(reads_data); }
  bool replayable() const override { return body_->replayable(); }
  void visit_state(device::StateVisitor& visitor) override { body_->visit_state(visitor); }
  void end_step(const StepEnd& end) override { body_->end_step(end); }

 private:
  std::unique_ptr<Layer> body_;
  DropoutSite site_;
  device::Buffer<float> values_;  ///< output of the body
};

}  // namespace onebit::sim
