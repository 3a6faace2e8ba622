#pragma once
// Token embeddings.

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Computes output[position] = the embedding of the pass's token there, plus that of the position if positions have
/// learned embeddings. The output is [context][width]; the layer reads the pass's tokens instead of a numeric input.
/// The tables are initialised from N(0, deviation^2).
class Embedding final : public Layer {
 public:
  struct Shape {
    Index vocabulary = 0, context = 0, width = 0;
    double deviation = 0;
    bool positions = false;  ///< whether positions have learned embeddings
    bool tied = false;       ///< whether a later layer writes the table's gradient first
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
  Index table_;                         ///< offset in the parameter vector
  Index positions_;                     ///< offset in the parameter vector; negative if there is no such table
  device::Buffer<std::int32_t> order_;  ///< places of a batch, sorted by token
};

}  // namespace onebit::sim
