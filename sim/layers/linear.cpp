#include "sim/layers/linear.hpp"

#include <type_traits>

#include "device/launch/launch.hpp"
#include "device/math/gemm.hpp"

namespace onebit::sim {

Linear::Linear(Parameters& parameters, const std::string& name, const Shape& shape)
    : Layer(shape.positions * shape.inputs, shape.positions * shape.outputs),
      shape_(shape),
      weight_(parameters.add_normal(name + ".weight", shape.inputs, shape.outputs, shape.deviation)),
      bias_(parameters.add_normal(name + ".bias", 1, shape.outputs, shape.bias_deviation)) {}

void Linear::reserve(const Pass& pass) {
  if (keeps_slopes()) grow(slopes_, pass.device, pass.examples() * outputs());
}

void Linear::forward(const Pass& pass, const float* input, float* output) {
  const Index own = pass.batch * shape_.positions;  // rows of a worker
  const bool shared = pass.shared_weights();
  const Index rows = shared ? pass.workers * own : own;
  device::gemm_batched(pass.device, {.m = rows, .n = shape_.outputs, .k = shape_.inputs},
                       {input, shape_.inputs, own * shape_.inputs},
                       {pass.weights.data + weight_, shape_.outputs, pass.weights.stride},
                       {output, shape_.outputs, own * shape_.outputs}, shared ? 1 : pass.workers);
  with_type(shape_.activation, [&]<class Function>(Function) {
    const BiasActivationKernel<Function> kernel{own,    shape_.outputs, pass.weights.data + bias_, pass.weights.stride,
                                                output, slopes_.data()};
    for_each_row(pass.device, pass.workers * own, shape_.outputs, kernel);
  });
}

void Linear::backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                      float* input_delta) {
  const Index own = pass.batch * shape_.positions;
  with_type(shape_.activation, [&]<class Function>(Function) {
    if constexpr (!std::is_same_v<Function, Identity>) {
      const ActivationSlopeKernel<Function> slope{keeps_slopes() ? slopes_.data() : output, output_delta};
      for_each(pass.device, pass.workers * own * shape_.outputs, slope);
    }
  });
  const GradientRows& rows = pass.gradients;
  device::gemm_batched(
      pass.device, {.m = shape_.inputs, .n = shape_.outputs, .k = own, .transpose_a = true, .accumulate = rows.add},
      {input, shape_.inputs, own * shape_.inputs}, {output_delta, shape_.outputs, own * shape_.outputs},
      {rows.data + weight_, shape_.outputs, rows.stride}, pass.workers);
  const BiasGradientKernel kernel{own, shape_.outputs, rows.add, output_delta, rows.data + bias_, rows.stride};
  sum_columns(pass.device, pass.workers, own, shape_.outputs, kernel);
  if (input_delta == nullptr) return;
  const bool shared = pass.shared_weights();
  device::gemm_batched(
      pass.device,
      {.m = shared ? pass.workers * own : own, .n = shape_.inputs, .k = shape_.outputs, .transpose_b = true},
      {output_delta, shape_.outputs, own * shape_.outputs},
      {pass.weights.data + weight_, shape_.outputs, pass.weights.stride},
      {input_delta, shape_.inputs, own * shape_.inputs}, shared ? 1 : pass.workers);
}

/// Counts one product in the forward pass, one for the weights' gradient and one for the input's gradient.
double Linear::flops(bool reads_data) const {
  const double product = 2.0 * static_cast<double>(shape_.positions * shape_.inputs * shape_.outputs);
  return (reads_data ? 2 : 3) * product;
}

}  // namespace onebit::sim
