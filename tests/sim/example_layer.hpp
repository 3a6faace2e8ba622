#pragma once

#include "device/launch.hpp"
#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// to = from * gain, each column with its own factor.
struct GainKernel {
  Index batch, width;
  const float* gain;
  Index gain_stride;
  const float* from;
  float* to;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index column) const {
    to[row * width + column] = from[row * width + column] * gain[row / batch * gain_stride + column];
  }
};

/// A worker's gradient of a factor: summed over its rows in their order.
struct GainGradientKernel {
  Index batch, width;
  bool add;
  const float* input;
  const float* delta;
  float* gradient;
  Index gradient_stride;
  ONEBIT_HOST_DEVICE void operator()(Index worker, Index column) const {
    float& out = gradient[worker * gradient_stride + column];
    double sum = add ? static_cast<double>(out) : 0.0;
    for (Index row = worker * batch; row < (worker + 1) * batch; ++row) {
      sum += static_cast<double>(input[row * width + column]) * static_cast<double>(delta[row * width + column]);
    }
    out = static_cast<float>(sum);
  }
};

/// output = input * g, g a vector that begins as ones.
class Gain final : public Layer {
 public:
  Gain(Parameters& parameters, const std::string& name, Index width)
      : Layer(width, width), gain_(parameters.add_constant(name + ".gain", width, 1)) {}

  void forward(const Pass& pass, const float* input, float* output) override {
    for_each_row(pass.device, pass.examples(), outputs(), by_gain(pass, input, output));
  }

  void backward(const Pass& pass, const float* input, const float*, float* output_delta, float* input_delta) override {
    const GradientRows& rows = pass.gradients;
    const GainGradientKernel kernel{pass.batch,   outputs(),         rows.add,   input,
                                    output_delta, rows.data + gain_, rows.stride};
    for_each_row(pass.device, pass.workers, outputs(), kernel);
    if (input_delta == nullptr) return;
    for_each_row(pass.device, pass.examples(), outputs(), by_gain(pass, output_delta, input_delta));
  }

 private:
  GainKernel by_gain(const Pass& pass, const float* from, float* to) const {
    return {pass.batch, outputs(), pass.weights.data + gain_, pass.weights.stride, from, to};
  }

  Index gain_;  ///< offset in the parameter vector
};

}  // namespace onebit::sim
