#pragma once
// Layers in sequence.

#include <memory>

#include "sim/layers/layer.hpp"

namespace onebit::sim {

class Sequential final : public Layer {
 public:
  /// Takes at least one layer; each layer's outputs are the next one's inputs. Throws Error if their sizes do not
  /// match.
  explicit Sequential(std::vector<std::unique_ptr<Layer>> layers);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  bool replayable() const override;
  void visit_state(device::StateVisitor& visitor) override;
  void end_step(const StepEnd& end) override;
  double flops(bool reads_data) const override;

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
  std::vector<device::Buffer<float>> values_;  ///< outputs of all layers but the last
};

}  // namespace onebit::sim
