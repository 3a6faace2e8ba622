#include "sim/layers/binary_logits.hpp"

#include "device/launch/launch.hpp"
#include "sim/layers/margin_kernels.hpp"

namespace onebit::sim {

void BinaryLogits::forward(const Pass& pass, const float* input, float* output) {
  for_each(pass.device, pass.examples(), MarginLogitsKernel{pass.batch, input, nullptr, 0, output});
}

void BinaryLogits::backward(const Pass& pass, const float*, const float*, float* output_delta, float* input_delta) {
  if (input_delta != nullptr) for_each(pass.device, pass.examples(), MarginDeltaKernel{output_delta, input_delta});
}

}  // namespace onebit::sim
