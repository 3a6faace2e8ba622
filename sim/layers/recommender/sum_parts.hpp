#pragma once

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Adds the parts of an example: [parts][columns] to [columns]. Sums are formed in double.
class SumParts final : public Layer {
 public:
  SumParts(Index parts, Index columns) : Layer(parts * columns, columns), parts_(parts) {}

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  Index parts_;
};

}  // namespace onebit::sim
