#include "sim/layers/image/pool.hpp"

#include "device/base/error.hpp"
#include "device/launch/launch.hpp"

namespace onebit::sim {

void ChannelsLast::reserve(const Pass& pass) {
  layer_->reserve(pass);
  grow(turned_, pass.device, pass.examples() * inputs());
}

void ChannelsLast::forward(const Pass& pass, const float* input, float* output) {
  for_each_row(pass.device, pass.examples() * pixels(), channels_,
               TransposeKernel{pixels(), channels_, input, turned_.data()});
  layer_->forward(pass, turned_.data(), output);
}

void ChannelsLast::backward(const Pass& pass, const float*, const float* output, float* output_delta,
                            float* input_delta) {
  if (input_delta == nullptr) {
    layer_->backward(pass, turned_.data(), output, output_delta, nullptr);
    return;
  }
  device::Buffer<float> delta(pass.device, pass.examples() * inputs());
  layer_->backward(pass, turned_.data(), output, output_delta, delta.data());
  for_each_row(pass.device, pass.examples() * channels_, pixels(),
               TransposeKernel{channels_, pixels(), delta.data(), input_delta});
}

MaxPool::MaxPool(const PoolShape& shape)
    : Layer(shape.height * shape.width * shape.channels, shape.out_pixels() * shape.channels), shape_(shape) {
  if (outputs() > 0) return;
  throw Error("no window fits into the image", "pooling " + std::to_string(shape.height) + " x " +
                                                   std::to_string(shape.width) + " by " + std::to_string(shape.window));
}

void MaxPool::forward(const Pass& pass, const float* input, float* output) {
  for_each_row(pass.device, pass.examples() * shape_.out_pixels(), shape_.channels,
               MaxPoolKernel{shape_, input, output});
}

void MaxPool::backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                       float* input_delta) {
  if (input_delta == nullptr) return;
  for_each_item(pass.device, pass.examples() * shape_.height,
                MaxPoolGradientKernel{shape_, input, output, output_delta, input_delta});
}

void GlobalAveragePool::forward(const Pass& pass, const float* input, float* output) {
  for_each_row(pass.device, pass.examples(), channels_, AveragePoolKernel{pixels_, channels_, input, output});
}

void GlobalAveragePool::backward(const Pass& pass, const float*, const float*, float* output_delta,
                                 float* input_delta) {
  if (input_delta == nullptr) return;
  for_each_row(pass.device, pass.examples() * pixels_, channels_,
               AveragePoolGradientKernel{pixels_, channels_, output_delta, input_delta});
}

}  // namespace onebit::sim
