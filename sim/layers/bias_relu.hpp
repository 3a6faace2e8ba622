#pragma once

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Computes output = ReLU(input + b), where b is a vector that is initially 0.
class BiasRelu final : public Layer {
 public:
  BiasRelu(Parameters& parameters, const std::string& name, Index width)
      : Layer(width, width), bias_(parameters.add_constant(name + ".bias", width, 0)) {}

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  Index bias_;  ///< offset in the parameter vector
};

}  // namespace onebit::sim
