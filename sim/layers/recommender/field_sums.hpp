#pragma once

#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// The parts of a factorization machine that individual workers compute. The input is (w_t, v_t) of every field t,
/// [fields][1 + factors]; the fields are divided among parts as share_of divides them. For each part, the output is
///
///   a    sum of w_t
///   q    sum of v_t, `factors` numbers; none without factors
///   c    sum of v_tf^2 over t and f; none without factors
///   h    sum of v_t U_t, `hidden` numbers: the first layer of a network that reads all v, without bias
///
/// Each of these quantities is a partial result; adding up the results of all parts gives the value over all fields.
/// U_t [factors x hidden] is a separate tensor for each field, initially drawn from N(0, deviation^2).
class FieldSums final : public Layer {
 public:
  struct Shape {
    Index fields = 0;
    Index factors = 0;
    Index hidden = 0;
    Index parts = 1;
    double deviation = 0;
  };
  FieldSums(Parameters& parameters, const std::string& name, const Shape& shape);

  /// Returns the number of outputs of each part.
  static Index columns(Index factors, Index hidden) { return factors == 0 ? 1 : factors + 2 + hidden; }

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override;
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  double flops(bool reads_data) const override;

 private:
  /// Consecutive parts with equal numbers of fields.
  struct Parts {
    Index first = 0, count = 0;
    Index first_field = 0, fields = 0;  ///< the first part's first field; number of fields of each
  };
  template <class Use>
  void each(const Use& use) const;

  Shape shape_;
  Index columns_;
  Index weight_ = 0;              ///< offset of the first U in the parameter vector; the others follow
  device::Buffer<float> packed_;  ///< v of all fields, [examples][fields][factors]
  device::Buffer<float> packed_delta_;
};

}  // namespace onebit::sim
