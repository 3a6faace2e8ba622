#include "sim/layers/embedding.hpp"

#include "device/launch.hpp"
#include "sim/layers/kernels.hpp"

namespace onebit::sim {

Embedding::Embedding(Parameters& parameters, const Shape& shape)
    : Layer(0, shape.context * shape.width),
      shape_(shape),
      table_(parameters.add_normal("embedding", shape.vocabulary, shape.width, shape.deviation)),
      positions_(shape.positions ? parameters.add_normal("positions", shape.context, shape.width, shape.deviation)
                                 : -1) {}

void Embedding::forward(const Pass& pass, const float*, float* output) {
  const float* weights = pass.weights.data;
  const EmbedKernel kernel{pass.batch,          shape_.context,
                           shape_.width,        pass.tokens,
                           weights + table_,    positions_ < 0 ? nullptr : weights + positions_,
                           pass.weights.stride, output};
  for_each_row(pass.device, pass.examples() * shape_.context, shape_.width, kernel);
}

void Embedding::backward(const Pass& pass, const float*, const float*, float* output_delta, float*) {
  const GradientRows& rows = pass.gradients;
  const EmbedGradientKernel kernel{pass.batch,        shape_.context,          shape_.width,
                                   shape_.vocabulary, rows.add || shape_.tied, pass.tokens,
                                   output_delta,      rows.data + table_,      rows.stride};
  for_each_row(pass.device, pass.workers, shape_.width, kernel);
  if (positions_ < 0) return;
  const BiasGradientKernel positions{pass.batch, outputs(), rows.add, output_delta, rows.data + positions_,
                                     rows.stride};
  for_each_row(pass.device, pass.workers, outputs(), positions);
}

}  // namespace onebit::sim
