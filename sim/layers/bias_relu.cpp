#include "sim/layers/bias_relu.hpp"

#include "device/launch/launch.hpp"
#include "sim/layers/dropout_kernels.hpp"
#include "sim/layers/kernels.hpp"

namespace onebit::sim {

void BiasRelu::forward(const Pass& pass, const float* input, float* output) {
  for_each(pass.device, pass.examples() * inputs(), CopyKernel{input, output});
  const BiasActivationKernel<Relu> kernel{pass.batch,          inputs(), pass.weights.data + bias_,
                                          pass.weights.stride, output,   nullptr};
  for_each_row(pass.device, pass.examples(), inputs(), kernel);
}

void BiasRelu::backward(const Pass& pass, const float*, const float* output, float* output_delta, float* input_delta) {
  const Index count = pass.examples() * inputs();
  for_each(pass.device, count, ActivationSlopeKernel<Relu>{output, output_delta});
  const GradientRows& rows = pass.gradients;
  const BiasGradientKernel kernel{pass.batch, inputs(), rows.add, output_delta, rows.data + bias_, rows.stride};
  sum_columns(pass.device, pass.workers, pass.batch, inputs(), kernel);
  if (input_delta != nullptr) for_each(pass.device, count, CopyKernel{output_delta, input_delta});
}

}  // namespace onebit::sim
