#include "sim/layers/margin.hpp"

#include "device/launch/launch.hpp"
#include "device/math/gemm.hpp"
#include "sim/layers/kernels.hpp"
#include "sim/layers/margin_kernels.hpp"

namespace onebit::sim {

Margin::Margin(Parameters& parameters, Index inputs, bool bias)
    : Layer(inputs, 2),
      weight_(parameters.add_constant("weight", inputs, 0)),
      bias_(bias ? parameters.add_constant("bias", 1, 0) : -1) {}

void Margin::reserve(const Pass& pass) {
  grow(margins_, pass.device, pass.examples());
}

void Margin::forward(const Pass& pass, const float* input, float* output) {
  const bool shared = pass.shared_weights();
  device::gemm_batched(pass.device, {.m = shared ? pass.examples() : pass.batch, .n = 1, .k = inputs()},
                       {input, inputs(), pass.batch * inputs()}, {pass.weights.data + weight_, 1, pass.weights.stride},
                       {margins_.data(), 1, pass.batch}, shared ? 1 : pass.workers);
  const float* bias = bias_ < 0 ? nullptr : pass.weights.data + bias_;
  for_each(pass.device, pass.examples(),
           MarginLogitsKernel{pass.batch, margins_.data(), bias, pass.weights.stride, output});
}

void Margin::backward(const Pass& pass, const float* input, const float*, float* output_delta, float*) {
  const GradientRows& rows = pass.gradients;
  for_each(pass.device, pass.examples(), MarginDeltaKernel{output_delta, margins_.data()});
  device::gemm_batched(pass.device,
                       {.m = inputs(), .n = 1, .k = pass.batch, .transpose_a = true, .accumulate = rows.add},
                       {input, inputs(), pass.batch * inputs()}, {margins_.data(), 1, pass.batch},
                       {rows.data + weight_, 1, rows.stride}, pass.workers);
  if (bias_ < 0) return;
  const BiasGradientKernel kernel{pass.batch, 1, rows.add, margins_.data(), rows.data + bias_, rows.stride};
  sum_columns(pass.device, pass.workers, pass.batch, 1, kernel);
}

double Margin::flops(bool) const {
  return 4.0 * static_cast<double>(inputs());
}

}  // namespace onebit::sim
