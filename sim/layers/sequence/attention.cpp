#include "sim/layers/sequence/attention.hpp"

#include <algorithm>
#include <cmath>

#include "device/launch/launch.hpp"
#include "sim/layers/sequence/attention_kernels.hpp"

namespace onebit::sim {

SelfAttention::SelfAttention(const Shape& shape, DropoutSite site)
    : Layer(shape.positions * 3 * shape.width, shape.positions * shape.width), shape_(shape), site_(site) {}

float SelfAttention::scale() const {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(head_width())));
}

/// Returns the number of examples that are computed together: on a GPU all; on a CPU few enough that a thread's scores
/// stay in its cache from kernel to kernel.
Index SelfAttention::together(const Pass& pass) const {
  constexpr Index of_thread = Index{1} << 16;  // scores per thread
  if (pass.device.is_gpu()) return pass.examples();
  return std::min(pass.examples(), std::max<Index>(1, pass.device.threads() * of_thread / scores()));
}

/// Calls work(group) for all examples, one group after another.
template <class Work>
void SelfAttention::for_each_group(const Pass& pass, const Work& work) const {
  const Index examples = pass.examples(), most = together(pass);
  for (Index first = 0; first < examples; first += most) work(Range{first, std::min(most, examples - first)});
}

void SelfAttention::reserve(const Pass& pass) {
  grow(probabilities_, pass.device, pass.examples() * scores());
}

void SelfAttention::forward(const Pass& pass, const float* input, float* output) {
  device::Buffer<float> room;
  if (site_.active(pass)) room = {pass.device, together(pass) * scores()};
  for_each_group(pass, [&](Range group) {
    forward(pass, group, input + group.first * inputs(), output + group.first * outputs(), room.data());
  });
}

void SelfAttention::backward(const Pass& pass, const float* input, const float*, float* output_delta,
                             float* input_delta) {
  if (input_delta == nullptr) return;
  device::Buffer<float> room(pass.device, together(pass) * scores());
  for_each_group(pass, [&](Range group) {
    backward(pass, group, input + group.first * inputs(), output_delta + group.first * outputs(),
             input_delta + group.first * inputs(), room.data());
  });
}

/// Multiplies the matrices of every head of every example.
void SelfAttention::multiply(const Pass& pass, Range group, const device::GemmShape& shape, device::MatrixIn a,
                             device::MatrixIn b, device::MatrixOut c) const {
  gemm_batched(pass.device, shape, a, b, c, {group.count, shape_.heads});
}

void SelfAttention::dropout(const Pass& pass, Range group, const float* input, float* output) const {
  DropoutMask mask = site_.mask(pass);
  mask.first = group.first;
  mask.parts = shape_.heads;
  const Index square = scores() / shape_.heads;
  for_each_row(pass.device, group.count * shape_.heads, ceil_div(square, 4),
               DropoutKernel{mask, square, nullptr, input, output});
}

/// Returns the group's probabilities after dropout, in `room` if dropout is active.
const float* SelfAttention::dropped(const Pass& pass, Range group, float* room) const {
  const float* p = probabilities_.data() + group.first * scores();
  if (!site_.active(pass)) return p;
  dropout(pass, group, p, room);
  return room;
}

void SelfAttention::forward(const Pass& pass, Range group, const float* input, float* output, float* room) {
  const Index t = shape_.positions, d = shape_.width, own = head_width();
  float* p = probabilities_.data() + group.first * scores();
  multiply(pass, group, {.m = t, .n = t, .k = own, .transpose_b = true}, columns(input, 3 * d),
           columns(input + d, 3 * d), squares(p));
  for_each_item(pass.device, group.count * shape_.heads * t, AttentionKernel{t, shape_.causal, scale(), p});
  multiply(pass, group, {.m = t, .n = own, .k = t}, squares(dropped(pass, group, room)), columns(input + 2 * d, 3 * d),
           columns(output, d));
}

/// room holds the probabilities after dropout, then the gradient with respect to the probabilities before dropout, then
/// the gradient with respect to the scores.
void SelfAttention::backward(const Pass& pass, Range group, const float* input, const float* output_delta,
                             float* input_delta, float* room) const {
  const Index t = shape_.positions, d = shape_.width, own = head_width();
  const device::MatrixIn out = columns(output_delta, d), delta = squares<const float>(room);
  multiply(pass, group, {.m = t, .n = own, .k = t, .transpose_a = true}, squares(dropped(pass, group, room)), out,
           columns(input_delta + 2 * d, 3 * d));
  multiply(pass, group, {.m = t, .n = t, .k = own, .transpose_b = true}, out, columns(input + 2 * d, 3 * d),
           squares(room));
  if (site_.active(pass)) dropout(pass, group, room, room);
  const float* p = probabilities_.data() + group.first * scores();
  for_each_item(pass.device, group.count * shape_.heads * t, AttentionDeltaKernel{t, shape_.causal, scale(), p, room});
  multiply(pass, group, {.m = t, .n = own, .k = t}, delta, columns(input + d, 3 * d), columns(input_delta, 3 * d));
  multiply(pass, group, {.m = t, .n = own, .k = t, .transpose_a = true}, delta, columns(input, 3 * d),
           columns(input_delta + d, 3 * d));
}

/// Counts two products forward and four backward, each of positions^2 x width.
double SelfAttention::flops(bool) const {
  return 6 * 2.0 * static_cast<double>(scores() / shape_.heads * shape_.width);
}

}  // namespace onebit::sim
