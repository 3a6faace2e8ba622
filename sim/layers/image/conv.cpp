#include "sim/layers/image/conv.hpp"

#include "device/launch/launch.hpp"
#include "sim/layers/kernels.hpp"

namespace onebit::sim {

Conv::Conv(Parameters& parameters, const std::string& name, const device::ConvShape& shape, const Options& options)
    : Layer(shape.inputs(), shape.outputs()),
      options_(options),
      plan_(shape),
      weight_(parameters.add_normal(name + ".weight", shape.patch(), shape.filters, options.deviation)),
      bias_(options.bias ? parameters.add_constant(name + ".bias", shape.filters, 0) : 0) {}

device::ConvBatch Conv::batch_of(const Pass& pass) const {
  return {.workers = pass.workers,
          .images = pass.batch,
          .weights = pass.weights.data + weight_,
          .stride = pass.weights.stride,
          .bias = options_.bias ? pass.weights.data + bias_ : nullptr,
          .relu = options_.relu};
}

void Conv::reserve(const Pass& pass) {
  plan_.reserve(pass.device, batch_of(pass).filter_sets());
}

void Conv::forward(const Pass& pass, const float* input, float* output) {
  conv_forward(pass.device, plan_, batch_of(pass), input, output);
}

void Conv::backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                    float* input_delta) {
  const GradientRows& rows = pass.gradients;
  if (options_.relu) {
    const ActivationSlopeKernel<Relu> slope{output, output_delta};
    for_each(pass.device, pass.examples() * outputs(), slope);
  }
  conv_weight_gradient(pass.device, plan_, batch_of(pass), input, output_delta,
                       {rows.data + weight_, rows.stride, rows.add});
  if (options_.bias) {
    const Index filters = plan_.shape().filters;
    const Index own = pass.batch * plan_.shape().out_pixels();
    const BiasGradientKernel kernel{own, filters, rows.add, output_delta, rows.data + bias_, rows.stride};
    sum_columns(pass.device, pass.workers, own, filters, kernel);
  }
  if (input_delta != nullptr) conv_input_gradient(pass.device, plan_, batch_of(pass), output_delta, input_delta);
}

/// Counts one product in the forward pass, one for the filters' gradient and one for the input's gradient.
double Conv::flops(bool reads_data) const {
  const double product = 2.0 * static_cast<double>(outputs() * plan_.shape().patch());
  return (reads_data ? 2 : 3) * product;
}

}  // namespace onebit::sim
