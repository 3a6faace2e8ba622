#include "sim/layers/embedding.hpp"

#include "device/launch.hpp"
#include "sim/layers/kernels.hpp"

namespace onebit::sim {

Embedding::Embedding(Parameters& parameters, Index vocabulary, Index context, Index width, double deviation)
    : Layer(0, context * width),
      vocabulary_(vocabulary),
      context_(context),
      width_(width),
      table_(parameters.add_normal("embedding", vocabulary, width, deviation)) {}

void Embedding::forward(const Pass& pass, const float*, float* output) {
  const EmbedKernel kernel{pass.batch,          context_, width_, pass.tokens, pass.weights.data + table_,
                           pass.weights.stride, output};
  for_each_row(pass.device, pass.examples(), outputs(), kernel);
}

void Embedding::backward(const Pass& pass, const float*, const float*, float* output_delta, float*) {
  const GradientRows& rows = pass.gradients;
  const EmbedGradientKernel kernel{pass.batch,   context_,           width_,     vocabulary_, rows.add, pass.tokens,
                                   output_delta, rows.data + table_, rows.stride};
  for_each_row(pass.device, pass.workers, width_, kernel);
}

}  // namespace onebit::sim
