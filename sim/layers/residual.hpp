#pragma once
// A block with a shortcut around it.

#include <memory>

#include "sim/layers/image/norm.hpp"

namespace onebit::sim {

/// Computes output = relu(norm(body(input)) + shortcut(input)), the basic block of He et al. 2015. Without a shortcut
/// layer, the input itself is added.
class Residual final : public Layer {
 public:
  /// Takes a norm with a ReLU, which is applied after the sum. Throws Error if the sizes do not match.
  Residual(std::unique_ptr<Layer> body, std::unique_ptr<Norm> norm, std::unique_ptr<Layer> shortcut);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  bool replayable() const override;
  void visit_state(device::StateVisitor& visitor) override;
  void end_step(const StepEnd& end) override;
  double flops(bool reads_data) const override;

 private:
  std::unique_ptr<Layer> body_;
  std::unique_ptr<Norm> norm_;
  std::unique_ptr<Layer> shortcut_;       ///< may be null
  device::Buffer<float> value_;           ///< output of the body
  device::Buffer<float> shortcut_value_;  ///< output of the shortcut
};

}  // namespace onebit::sim
