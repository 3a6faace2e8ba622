#include "sim/layers/attention.hpp"

#include <cmath>

#include "device/gemm.hpp"
#include "device/launch.hpp"
#include "sim/layers/attention_kernels.hpp"

namespace onebit::sim {

using device::gemm_batched;

SelfAttention::SelfAttention(const Shape& shape, DropoutSite site)
    : Layer(shape.positions * 3 * shape.width, shape.positions * shape.width), shape_(shape), site_(site) {}

void SelfAttention::reserve(const Pass& pass) {
  grow(probabilities_, pass.device, shape_.heads * pass.examples() * square());
}

DropoutMask SelfAttention::mask(const Pass& pass, Index head) const {
  DropoutMask mask = site_.mask(pass);
  mask.first = head * ceil_div(square(), 4);
  return mask;
}

/// A head's probabilities after dropout, in `room` where there is one.
const float* SelfAttention::dropped(const Pass& pass, Index head, device::Buffer<float>& room) {
  if (!site_.active(pass)) return probabilities(pass, head);
  room = scores(pass);
  drop(pass, mask(pass, head), square(), nullptr, probabilities(pass, head), room.data());
  return room.data();
}

/// Every product is one of an example's: none is shared by workers.
void SelfAttention::forward(const Pass& pass, const float* input, float* output) {
  const Index t = shape_.positions, d = shape_.width, own = head_width();
  const Index examples = pass.examples();
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(own)));
  for (Index head = 0; head < shape_.heads; ++head) {
    const float* query = input + head * own;
    float* p = probabilities(pass, head);
    device::Buffer<float> room;
    gemm_batched(pass.device, {.m = t, .n = t, .k = own, .transpose_b = true}, {query, 3 * d, t * 3 * d},
                 {query + d, 3 * d, t * 3 * d}, {p, t, t * t}, examples);
    for_each_item(pass.device, examples * t, AttentionKernel{t, shape_.causal, scale, p});
    gemm_batched(pass.device, {.m = t, .n = own, .k = t}, {dropped(pass, head, room), t, t * t},
                 {query + 2 * d, 3 * d, t * 3 * d}, {output + head * own, d, t * d}, examples);
  }
}

void SelfAttention::backward(const Pass& pass, const float* input, const float*, float* output_delta,
                             float* input_delta) {
  if (input_delta == nullptr) return;
  for (Index head = 0; head < shape_.heads; ++head) backward(pass, head, input, output_delta, input_delta);
}

void SelfAttention::backward(const Pass& pass, Index head, const float* input, const float* output_delta,
                             float* input_delta) {
  const Index t = shape_.positions, d = shape_.width, own = head_width();
  const Index examples = pass.examples();
  const auto matrix = [&](const float* data) { return device::MatrixIn{data + head * own, 3 * d, t * 3 * d}; };
  const auto result = [&](float* data) { return device::MatrixOut{data + head * own, 3 * d, t * 3 * d}; };
  device::Buffer<float> delta_rows = scores(pass), room;  // gradients by probabilities, then by scores
  const device::MatrixIn delta{delta_rows.data(), t, t * t}, out{output_delta + head * own, d, t * d};
  gemm_batched(pass.device, {.m = t, .n = t, .k = own, .transpose_b = true}, out, matrix(input + 2 * d),
               {delta_rows.data(), t, t * t}, examples);
  gemm_batched(pass.device, {.m = t, .n = own, .k = t, .transpose_a = true}, {dropped(pass, head, room), t, t * t}, out,
               result(input_delta + 2 * d), examples);
  if (site_.active(pass)) drop(pass, mask(pass, head), square(), nullptr, delta_rows.data(), delta_rows.data());
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(own)));
  for_each_item(pass.device, examples * t,
                AttentionDeltaKernel{t, shape_.causal, scale, probabilities(pass, head), delta_rows.data()});
  gemm_batched(pass.device, {.m = t, .n = own, .k = t}, delta, matrix(input + d), result(input_delta), examples);
  gemm_batched(pass.device, {.m = t, .n = own, .k = t, .transpose_a = true}, delta, matrix(input),
               result(input_delta + d), examples);
}

/// Two products forward, four backward, each of positions^2 x width.
double SelfAttention::flops(bool) const {
  return 6 * 2.0 * static_cast<double>(square() * shape_.width);
}

}  // namespace onebit::sim
