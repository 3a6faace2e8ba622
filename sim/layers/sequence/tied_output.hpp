#pragma once
// Logits from the token embedding itself (Press and Wolf 2017).

#include "sim/layers/sequence/embedding.hpp"

namespace onebit::sim {

/// output[position] = input[position] E^T + b with an embedding's table E [vocabulary x width]; b, if there is one, is
/// a separate tensor that is initially zero. [positions][width] in, [positions][vocabulary] out.
///
/// Both layers contribute to the table's gradient: this one, whose backward pass runs first, writes it, and the
/// embedding, made with Shape::tied, adds to it.
class TiedOutput final : public Layer {
 public:
  TiedOutput(Parameters& parameters, const Embedding& embedding, bool biased);

  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override;

 private:
  Embedding::Shape shape_;
  Index table_;  ///< offsets in the parameter vector
  Index bias_;   ///< negative: none
};

}  // namespace onebit::sim
