#pragma once

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Turns one number z into two logits (0, z), so that softmax cross-entropy is binary cross-entropy with logit z.
class BinaryLogits final : public Layer {
 public:
  BinaryLogits() : Layer(1, 2) {}

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
};

}  // namespace onebit::sim
