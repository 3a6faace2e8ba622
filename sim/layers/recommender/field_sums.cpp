#include "sim/layers/recommender/field_sums.hpp"

#include "device/launch/launch.hpp"
#include "device/math/gemm.hpp"
#include "sim/layers/recommender/factorization_kernels.hpp"

namespace onebit::sim {

FieldSums::FieldSums(Parameters& parameters, const std::string& name, const Shape& shape)
    : Layer(shape.fields * (1 + shape.factors), shape.parts * columns(shape.factors, shape.hidden)),
      shape_(shape),
      columns_(columns(shape.factors, shape.hidden)) {
  if (shape.hidden == 0) return;
  weight_ = parameters.count();
  for (Index t = 0; t < shape.fields; ++t) {
    parameters.add_normal(name + ".field" + std::to_string(t), shape.factors, shape.hidden, shape.deviation);
  }
}

void FieldSums::reserve(const Pass& pass) {
  if (shape_.hidden == 0) return;
  grow(packed_, pass.device, pass.examples() * shape_.fields * shape_.factors);
  grow(packed_delta_, pass.device, pass.examples() * shape_.fields * shape_.factors);
}

/// Calls `use` with the parts that have one more field than the others, if there are any, and with the others, if they
/// have fields.
template <class Use>
void FieldSums::each(const Use& use) const {
  const Index fields = shape_.fields / shape_.parts, more = shape_.fields % shape_.parts;
  if (more > 0) use(Parts{0, more, 0, fields + 1});
  if (fields > 0) use(Parts{more, shape_.parts - more, more * (fields + 1), fields});
}

void FieldSums::forward(const Pass& pass, const float* input, float* output) {
  const Index k = shape_.factors, h = shape_.hidden, sums = k == 0 ? 1 : k + 2;
  for_each_row(pass.device, pass.examples() * shape_.parts, sums,
               FieldSumsKernel{shape_.fields, k, shape_.parts, columns_, input, output});
  if (h == 0) return;
  for_each_row(pass.device, pass.examples() * shape_.fields, k, CopyColumnsKernel{1 + k, 1, k, input, packed_.data()});
  const bool shared = pass.shared_weights();
  const Index rows = shared ? pass.examples() : pass.batch, width = shape_.fields * k;
  each([&](const Parts& parts) {
    const Index own = parts.fields * k, first = parts.first_field * k;
    device::gemm_batched(pass.device, {.m = rows, .n = h, .k = own}, {packed_.data() + first, width, rows * width, own},
                         {pass.weights.data + weight_ + first * h, h, pass.weights.stride, own * h},
                         {output + parts.first * columns_ + sums, outputs(), rows * outputs(), columns_},
                         {shared ? 1 : pass.workers, parts.count});
  });
}

void FieldSums::backward(const Pass& pass, const float* input, const float*, float* output_delta, float* input_delta) {
  const Index k = shape_.factors, h = shape_.hidden, width = shape_.fields * k;
  const GradientRows& gradients = pass.gradients;
  if (h > 0) {
    each([&](const Parts& parts) {
      const Index own = parts.fields * k, first = parts.first_field * k;
      const float* delta = output_delta + parts.first * columns_ + k + 2;
      device::gemm_batched(
          pass.device, {.m = own, .n = h, .k = pass.batch, .transpose_a = true, .accumulate = gradients.add},
          {packed_.data() + first, width, pass.batch * width, own},
          {delta, outputs(), pass.batch * outputs(), columns_},
          {gradients.data + weight_ + first * h, h, gradients.stride, own * h}, {pass.workers, parts.count});
      if (input_delta == nullptr) return;
      const bool shared = pass.shared_weights();
      const Index rows = shared ? pass.examples() : pass.batch;
      device::gemm_batched(pass.device, {.m = rows, .n = own, .k = h, .transpose_b = true},
                           {delta, outputs(), rows * outputs(), columns_},
                           {pass.weights.data + weight_ + first * h, h, pass.weights.stride, own * h},
                           {packed_delta_.data() + first, width, rows * width, own},
                           {shared ? 1 : pass.workers, parts.count});
    });
  }
  if (input_delta == nullptr) return;
  const FieldDeltaKernel kernel{
      shape_.fields, k, shape_.parts, columns_, input, output_delta, h > 0 ? packed_delta_.data() : nullptr,
      input_delta};
  for_each_row(pass.device, pass.examples() * shape_.fields, 1 + k, kernel);
}

/// Counts one product in the forward pass, one for the gradient of U and one for that of v.
double FieldSums::flops(bool reads_data) const {
  return (reads_data ? 4.0 : 6.0) * static_cast<double>(shape_.fields * shape_.factors * shape_.hidden);
}

}  // namespace onebit::sim
