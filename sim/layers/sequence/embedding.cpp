#include "sim/layers/sequence/embedding.hpp"

#include <algorithm>

#include "device/launch/launch.hpp"
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

void Embedding::reserve(const Pass& pass) {
  grow(order_, pass.device, pass.examples() * shape_.context);
}

void Embedding::backward(const Pass& pass, const float*, const float*, float* output_delta, float*) {
  const GradientRows& rows = pass.gradients;
  add_tokens(pass, output_delta, {rows.data + table_, rows.stride, rows.add || shape_.tied});
  if (positions_ < 0) return;
  const BiasGradientKernel positions{pass.batch, outputs(), rows.add, output_delta, rows.data + positions_,
                                     rows.stride};
  sum_columns(pass.device, pass.workers, pass.batch, outputs(), positions);
}

/// Computes the gradient of the table from that of the embeddings. Adds it if table.add, otherwise replaces the old
/// one.
void Embedding::add_tokens(const Pass& pass, const float* delta, const GradientRows& table) {
  const Index own = pass.batch * shape_.context;
  if (!table.add) {
    for_each_row(pass.device, pass.workers, shape_.vocabulary * shape_.width, ZeroRowsKernel{table.data, table.stride});
  }
  for_each_item(pass.device, pass.workers * own, TokenOrderKernel{own, pass.tokens, order_.data()});
  for (Index first = 0; first < own; first += kTokenPart) {
    const Index count = std::min(kTokenPart, own - first);
    const EmbedGradientKernel kernel{own,           first, count,      shape_.width, pass.tokens,
                                     order_.data(), delta, table.data, table.stride};
    for_each_row(pass.device, pass.workers * count, shape_.width, kernel);
  }
}

}  // namespace onebit::sim
