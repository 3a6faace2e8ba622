#pragma once
// Convolution layers. Inside a network an image is [height][width][channels].

#include "device/math/conv.hpp"
#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Computes output = relu(input * filters + bias), with ReLU and bias if the options enable them. Maps
/// [height][width][channels] to [out_height][out_width][filters]. The filters, a tensor [kernel x kernel x
/// channels][filters], are initialised from N(0, deviation^2); the bias is initially zero.
class Conv final : public Layer {
 public:
  struct Options {
    bool bias = false;
    bool relu = false;
    double deviation = 0;
  };
  Conv(Parameters& parameters, const std::string& name, const device::ConvShape& shape, const Options& options);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override;

 private:
  device::ConvBatch batch_of(const Pass& pass) const;

  Options options_;
  device::ConvPlan plan_;
  Index weight_, bias_;  ///< offsets in the parameter vector
};

}  // namespace onebit::sim
