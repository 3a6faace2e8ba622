#pragma once
// A dense layer with bias and activation, applied at every position of an example.

#include "sim/layers/kernels.hpp"
#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Computes output[position] = activation(input[position] W + b) with W [inputs x outputs]. Input and output are
/// [positions][width]. W is initialised from N(0, deviation^2), b from N(0, bias_deviation^2).
class Linear final : public Layer {
 public:
  struct Shape {
    Index inputs = 0, outputs = 0;  ///< numbers per position
    Index positions = 1;
    Activation activation = Activation::none;
    double deviation = 0;
    double bias_deviation = 0;
  };
  Linear(Parameters& parameters, const std::string& name, const Shape& shape);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override;

 private:
  /// Whether forward keeps the activation's slopes for backward, because they are not a function of its result.
  bool keeps_slopes() const { return shape_.activation == Activation::gelu; }

  Shape shape_;
  Index weight_, bias_;           ///< offsets in the parameter vector
  device::Buffer<float> slopes_;  ///< slope of the activation at every output, if slopes are kept
};

}  // namespace onebit::sim
