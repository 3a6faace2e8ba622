#pragma once
// Vectors of tokens.

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// output[position] = the embedding of the pass's token there: [context][width]. Reads no numbers. The table begins as
/// N(0, deviation^2).
class Embedding final : public Layer {
 public:
  Embedding(Parameters& parameters, Index vocabulary, Index context, Index width, double deviation);

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;

 private:
  Index vocabulary_, context_, width_;
  Index table_;  ///< offset in the parameter vector
};

}  // namespace onebit::sim
