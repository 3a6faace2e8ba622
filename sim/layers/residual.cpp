#include "sim/layers/residual.hpp"

#include "device/base/error.hpp"
#include "device/launch/launch.hpp"
#include "sim/layers/dropout_kernels.hpp"

namespace onebit::sim {

Residual::Residual(std::unique_ptr<Layer> body, std::unique_ptr<Norm> norm, std::unique_ptr<Layer> shortcut)
    : Layer(body->inputs(), norm->outputs()),
      body_(std::move(body)),
      norm_(std::move(norm)),
      shortcut_(std::move(shortcut)) {
  const auto require = [](Index a, Index b, const char* what) {
    if (a != b)
      throw Error(std::string(what) + ": " + std::to_string(a) + " and " + std::to_string(b), "residual block");
  };
  require(body_->outputs(), norm_->inputs(), "the body's outputs do not match the norm's inputs");
  if (shortcut_) require(shortcut_->inputs(), inputs(), "the shortcut's inputs do not match the body's");
  require(shortcut_ ? shortcut_->outputs() : inputs(), outputs(), "the shortcut's outputs do not match the norm's");
}

void Residual::reserve(const Pass& pass) {
  body_->reserve(pass);
  norm_->reserve(pass);
  const Index examples = pass.examples();
  grow(value_, pass.device, examples * body_->outputs());
  if (!shortcut_) return;
  shortcut_->reserve(pass);
  grow(shortcut_value_, pass.device, examples * outputs());
}

void Residual::forward(const Pass& pass, const float* input, float* output) {
  body_->forward(pass, input, value_.data());
  if (shortcut_) shortcut_->forward(pass, input, shortcut_value_.data());
  norm_->forward(pass, value_.data(), shortcut_ ? shortcut_value_.data() : input, output);
}

void Residual::backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                        float* input_delta) {
  const Index examples = pass.examples();
  {
    device::Buffer<float> delta(pass.device, examples * body_->outputs());
    norm_->backward(pass, value_.data(), output, output_delta, delta.data());
    body_->backward(pass, input, value_.data(), delta.data(), input_delta);
  }
  const float* around = output_delta;
  device::Buffer<float> beside;
  if (shortcut_) {
    if (input_delta != nullptr) beside = device::Buffer<float>(pass.device, examples * inputs());
    shortcut_->backward(pass, input, shortcut_value_.data(), output_delta, beside.data());
    around = beside.data();
  }
  if (input_delta != nullptr)
    for_each(pass.device, pass.examples() * inputs(), AddKernel{around, input_delta, input_delta});
}

double Residual::flops(bool reads_data) const {
  return body_->flops(reads_data) + (shortcut_ ? shortcut_->flops(reads_data) : 0);
}

bool Residual::replayable() const {
  return body_->replayable() && norm_->replayable() && (!shortcut_ || shortcut_->replayable());
}

void Residual::end_step(const StepEnd& end) {
  body_->end_step(end);
  norm_->end_step(end);
  if (shortcut_) shortcut_->end_step(end);
}

void Residual::visit_state(device::StateVisitor& visitor) {
  visitor.group("body", [&] { body_->visit_state(visitor); });
  visitor.group("norm", [&] { norm_->visit_state(visitor); });
  if (shortcut_) visitor.group("shortcut", [&] { shortcut_->visit_state(visitor); });
}

}  // namespace onebit::sim
