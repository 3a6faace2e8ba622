#include "sim/layers/recommender/factorization.hpp"

#include "device/launch/launch.hpp"
#include "sim/layers/dropout_kernels.hpp"
#include "sim/layers/recommender/factorization_kernels.hpp"

namespace onebit::sim {

Factorization::Factorization(Index factors, std::unique_ptr<Layer> dense, std::unique_ptr<Layer> sums,
                             std::unique_ptr<Layer> deep)
    : Layer(dense->inputs(), 1),
      factors_(factors),
      dense_(std::move(dense)),
      sums_(std::move(sums)),
      deep_(std::move(deep)) {}

bool Factorization::replayable() const {
  return dense_->replayable() && sums_->replayable() && (deep_ == nullptr || deep_->replayable());
}

void Factorization::reserve(const Pass& pass) {
  dense_->reserve(pass);
  sums_->reserve(pass);
  grow(dense_output_, pass.device, pass.examples());
  grow(sums_output_, pass.device, pass.examples() * sums_->outputs());
  grow(sums_delta_, pass.device, pass.examples() * sums_->outputs());
  grow(delta_, pass.device, pass.examples());
  if (deep_ == nullptr) return;
  deep_->reserve(pass);
  grow(deep_input_, pass.device, pass.examples() * deep_->inputs());
  grow(deep_delta_, pass.device, pass.examples() * deep_->inputs());
  grow(deep_output_, pass.device, pass.examples());
}

void Factorization::forward(const Pass& pass, const float* input, float* output) {
  dense_->forward(pass, input, dense_output_.data());
  sums_->forward(pass, nullptr, sums_output_.data());
  const Index columns = sums_->outputs();
  if (deep_ != nullptr) {
    for_each_row(pass.device, pass.examples(), deep_->inputs(),
                 CopyColumnsKernel{columns, factors_ + 2, deep_->inputs(), sums_output_.data(), deep_input_.data()});
    deep_->forward(pass, deep_input_.data(), deep_output_.data());
  }
  for_each(pass.device, pass.examples(),
           FactorizationKernel{factors_, columns, dense_output_.data(), sums_output_.data(),
                               deep_ == nullptr ? nullptr : deep_output_.data(), output});
}

void Factorization::backward(const Pass& pass, const float* input, const float*, float* output_delta,
                             float* input_delta) {
  const Index columns = sums_->outputs();
  if (deep_ != nullptr) {
    for_each(pass.device, pass.examples(), CopyKernel{output_delta, delta_.data()});
    deep_->backward(pass, deep_input_.data(), deep_output_.data(), delta_.data(), deep_delta_.data());
  }
  for_each_row(pass.device, pass.examples(), columns,
               FactorizationDeltaKernel{factors_, columns, output_delta, sums_output_.data(),
                                        deep_ == nullptr ? nullptr : deep_delta_.data(), sums_delta_.data()});
  sums_->backward(pass, nullptr, sums_output_.data(), sums_delta_.data(), nullptr);
  dense_->backward(pass, input, dense_output_.data(), output_delta, input_delta);
}

void Factorization::visit_state(device::StateVisitor& visitor) {
  visitor.group("dense", [&] { dense_->visit_state(visitor); });
  visitor.group("sums", [&] { sums_->visit_state(visitor); });
  if (deep_ != nullptr) visitor.group("deep", [&] { deep_->visit_state(visitor); });
}

void Factorization::end_step(const StepEnd& end) {
  dense_->end_step(end);
  if (deep_ != nullptr) deep_->end_step(end);
  sums_->end_step(end);
}

double Factorization::flops(bool reads_data) const {
  return dense_->flops(reads_data) + sums_->flops(true) + (deep_ == nullptr ? 0 : deep_->flops(false));
}

}  // namespace onebit::sim
