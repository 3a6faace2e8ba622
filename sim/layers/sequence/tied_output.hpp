#pragma once
// Logits computed with the table of the token embedding (Press and Wolf 2017).

#include "sim/layers/sequence/embedding.hpp"

namespace onebit::sim {

/// Computes output[position] = input[position] E^T + b with an embedding's table E [vocabulary x width]. b is optional:
/// a separate tensor that is initially zero. Maps [positions][width] to [positions][vocabulary].
///
/// Both layers contribute to the table's gradient. This layer writes the gradient, because its backward pass runs
/// first; the embedding, which must have Shape::tied, adds to it.
class TiedOutput final : public Layer {
 public:
  TiedOutput(Parameters& parameters, const Embedding& embedding, bool biased);

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override;

 private:
  Embedding::Shape shape_;
  Index table_;  ///< offset in the parameter vector
  Index bias_;   ///< offset in the parameter vector; negative if there is no bias
};

}  // namespace onebit::sim
