#pragma once
// Token embeddings.

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// output[position] = the embedding of the pass's token there, plus that of the position if positions have learned
/// embeddings: [context][width]. Reads tokens, no numbers. The tables are initialised from N(0, deviation^2).
class Embedding final : public Layer {
 public:
  struct Shape {
    Index vocabulary = 0, context = 0, width = 0;
    double deviation = 0;
    bool positions = false;  ///< learned embeddings of positions
    bool tied = false;       ///< a later layer writes to the table's gradient first
  };
  Embedding(Parameters& parameters, const Shape& shape);

  const Shape& shape() const { return shape_; }
  Index table() const { return table_; }

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  void add_tokens(const Pass& pass, const float* delta, const GradientRows& table);

  Shape shape_;
  Index table_;                         ///< offsets in the parameter vector
  Index positions_;                     ///< negative: none
  device::Buffer<std::int32_t> order_;  ///< places of a batch, sorted by token
};

}  // namespace onebit::sim
