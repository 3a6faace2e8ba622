#pragma once
// Layer normalisation (Ba et al. 2016).

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Computes output[position] = (x - mean) / sqrt(variance + 1e-5) * weight + bias, with the mean and the population
/// variance of the numbers of a position. Input and output are [positions][width]. weight is initially one, bias zero.
class LayerNorm final : public Layer {
 public:
  LayerNorm(Parameters& parameters, const std::string& name, Index positions, Index width);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  Index positions_, width_;
  Index weight_, bias_;         ///< offsets in the parameter vector
  device::Buffer<float> mean_;  ///< mean of every position
  device::Buffer<float> rate_;  ///< 1 / standard deviation of every position
};

}  // namespace onebit::sim
