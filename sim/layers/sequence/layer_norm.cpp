#include "sim/layers/sequence/layer_norm.hpp"

#include "device/launch/launch.hpp"
#include "sim/layers/sequence/layer_norm_kernels.hpp"

namespace onebit::sim {

LayerNorm::LayerNorm(Parameters& parameters, const std::string& name, Index positions, Index width)
    : Layer(positions * width, positions * width),
      positions_(positions),
      width_(width),
      weight_(parameters.add_constant(name + ".weight", width, 1)),
      bias_(parameters.add_constant(name + ".bias", width, 0)) {}

void LayerNorm::reserve(const Pass& pass) {
  grow(mean_, pass.device, pass.examples() * positions_);
  grow(rate_, pass.device, pass.examples() * positions_);
}

void LayerNorm::forward(const Pass& pass, const float* input, float* output) {
  const float* weights = pass.weights.data;
  const Index own = pass.batch * positions_;
  const LayerNormKernel kernel{own,   width_, weights + weight_, weights + bias_, pass.weights.stride,
                               input, output, mean_.data(),      rate_.data()};
  for_each_item(pass.device, pass.workers * own, kernel);
}

void LayerNorm::backward(const Pass& pass, const float* input, const float*, float* output_delta, float* input_delta) {
  const Index own = pass.batch * positions_;
  const GradientRows& rows = pass.gradients;
  const LayerNormGradientKernel gradient{own,
                                         width_,
                                         rows.add,
                                         input,
                                         mean_.data(),
                                         rate_.data(),
                                         output_delta,
                                         rows.data + weight_,
                                         rows.data + bias_,
                                         rows.stride};
  sum_columns(pass.device, pass.workers, own, width_, gradient);
  if (input_delta == nullptr) return;
  const LayerNormDeltaKernel delta{
      own,          width_,     pass.weights.data + weight_, pass.weights.stride, input, mean_.data(), rate_.data(),
      output_delta, input_delta};
  for_each_item(pass.device, pass.workers * own, delta);
}

}  // namespace onebit::sim
