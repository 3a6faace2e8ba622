#include "sim/layers/dropout.hpp"

#include "device/launch/launch.hpp"

namespace onebit::sim {

DropoutMask DropoutSite::mask(const Pass& pass) const {
  if (!active(pass)) return {.batch = pass.batch};
  const DrawPlace& place = pass.place;
  return {.seed = place.seed,
          .threshold = static_cast<std::uint32_t>(rate * 0x1p32),
          .kept = static_cast<float>(1 / (1 - rate)),
          .step = pass.step,
          .first_worker = place.first_worker,
          .first_draw = place.first_draw,
          .batch = pass.batch,
          .site = number};
}

void drop(const Pass& pass, const DropoutMask& mask, Index size, const float* base, const float* input, float* output) {
  for_each_row(pass.device, pass.examples(), ceil_div(size, 4), DropoutKernel{mask, size, base, input, output});
}

void Dropout::forward(const Pass& pass, const float* input, float* output) {
  drop(pass, site_.mask(pass), inputs(), nullptr, input, output);
}

void Dropout::backward(const Pass& pass, const float*, const float*, float* output_delta, float* input_delta) {
  if (input_delta != nullptr) drop(pass, site_.mask(pass), inputs(), nullptr, output_delta, input_delta);
}

Branch::Branch(std::unique_ptr<Layer> body, DropoutSite site)
    : Layer(body->inputs(), body->outputs()), body_(std::move(body)), site_(site) {}

void Branch::reserve(const Pass& pass) {
  body_->reserve(pass);
  grow(values_, pass.device, pass.examples() * outputs());
}

void Branch::forward(const Pass& pass, const float* input, float* output) {
  body_->forward(pass, input, values_.data());
  if (site_.active(pass)) {
    drop(pass, site_.mask(pass), outputs(), input, values_.data(), output);
  } else {
    for_each(pass.device, pass.examples() * outputs(), AddKernel{input, values_.data(), output});
  }
}

/// The body may overwrite the gradient with respect to its output, so it gets a copy.
void Branch::backward(const Pass& pass, const float* input, const float*, float* output_delta, float* input_delta) {
  const Index size = pass.examples() * outputs();
  device::Buffer<float> delta(pass.device, pass.examples() * outputs());
  if (site_.active(pass)) {
    drop(pass, site_.mask(pass), outputs(), nullptr, output_delta, delta.data());
  } else {
    for_each(pass.device, size, CopyKernel{output_delta, delta.data()});
  }
  body_->backward(pass, input, values_.data(), delta.data(), input_delta);
  if (input_delta != nullptr) for_each(pass.device, size, AddKernel{input_delta, output_delta, input_delta});
}

}  // namespace onebit::sim
