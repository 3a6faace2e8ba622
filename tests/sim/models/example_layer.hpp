#pragma once

#include "device/launch/launch.hpp"
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

/// A worker's gradient of a factor: summed over its rows.
struct GainGradientKernel {
  Index batch, width;
  bool add;
  const float* input;
  const float* delta;
  float* gradient;
  Index gradient_stride;
  ONEBIT_HOST_DEVICE device::ColumnTerms<1> operator()(Index worker, Index row, Index column) const {
    const Index at = (worker * batch + row) * width + column;
    return {{static_cast<double>(input[at]) * static_cast<double>(delta[at])}};
  }
  ONEBIT_HOST_DEVICE void put(Index worker, Index column, const device::ColumnTerms<1>& sum) const {
    float& out = gradient[worker * gradient_stride + column];
    out = static_cast<float>(add ? static_cast<double>(out) + sum.term[0] : sum.term[0]);
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
    sum_columns(pass.device, pass.workers, pass.batch, outputs(), kernel);
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
