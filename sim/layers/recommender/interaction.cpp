#include "sim/layers/recommender/interaction.hpp"

#include "device/launch/launch.hpp"
#include "device/math/gemm.hpp"
#include "sim/layers/dropout_kernels.hpp"
#include "sim/layers/recommender/interaction_kernels.hpp"

namespace onebit::sim {
namespace {

Index outputs_of(Interaction::Kind kind, Index width, Index features) {
  return kind == Interaction::Kind::dot ? width + pairs(features) : features * width;
}

}  // namespace

Interaction::Interaction(Kind kind, std::unique_ptr<Layer> bottom, std::unique_ptr<Layer> embeddings)
    : Layer(bottom->inputs(), outputs_of(kind, bottom->outputs(), 1 + embeddings->outputs() / bottom->outputs())),
      kind_(kind),
      bottom_(std::move(bottom)),
      embeddings_(std::move(embeddings)) {}

void Interaction::reserve(const Pass& pass) {
  bottom_->reserve(pass);
  embeddings_->reserve(pass);
  grow(dense_, pass.device, pass.examples() * width());
  grow(pooled_, pass.device, pass.examples() * embeddings_->outputs());
  grow(dense_delta_, pass.device, pass.examples() * width());
  grow(pooled_delta_, pass.device, pass.examples() * embeddings_->outputs());
  if (kind_ == Kind::cat) return;
  grow(vectors_, pass.device, pass.examples() * features() * width());
  grow(vectors_delta_, pass.device, pass.examples() * features() * width());
  grow(products_, pass.device, pass.examples() * features() * features());
}

void Interaction::forward(const Pass& pass, const float* input, float* output) {
  bottom_->forward(pass, input, dense_.data());
  embeddings_->forward(pass, nullptr, pooled_.data());
  const Index f = features(), d = width(), examples = pass.examples();
  float* vectors = kind_ == Kind::cat ? output : vectors_.data();
  for_each_row(pass.device, examples, f * d, StackKernel{d, f * d, dense_.data(), pooled_.data(), vectors});
  if (kind_ == Kind::cat) return;
  device::gemm_batched(pass.device, {.m = f, .n = f, .k = d, .transpose_b = true}, {vectors, d, f * d},
                       {vectors, d, f * d}, {products_.data(), f, f * f}, examples);
  for_each_row(pass.device, examples * f, f, LowerTriangleKernel{f, d, vectors, products_.data(), output});
}

void Interaction::backward(const Pass& pass, const float* input, const float*, float* output_delta,
                           float* input_delta) {
  const Index f = features(), d = width(), examples = pass.examples();
  const float* delta = output_delta;
  if (kind_ == Kind::dot) {
    for_each_row(pass.device, examples * f, f, SymmetricKernel{f, d, output_delta, products_.data()});
    device::gemm_batched(pass.device, {.m = f, .n = d, .k = f}, {products_.data(), f, f * f},
                         {vectors_.data(), d, f * d}, {vectors_delta_.data(), d, f * d}, examples);
    for_each_row(pass.device, examples, d, AddFirstKernel{f * d, outputs(), output_delta, vectors_delta_.data()});
    delta = vectors_delta_.data();
  }
  for_each_row(pass.device, examples, f * d, UnstackKernel{d, f * d, delta, dense_delta_.data(), pooled_delta_.data()});
  embeddings_->backward(pass, nullptr, pooled_.data(), pooled_delta_.data(), nullptr);
  bottom_->backward(pass, input, dense_.data(), dense_delta_.data(), input_delta);
}

void Interaction::visit_state(device::StateVisitor& visitor) {
  visitor.group("bottom", [&] { bottom_->visit_state(visitor); });
  visitor.group("embeddings", [&] { embeddings_->visit_state(visitor); });
}

void Interaction::end_step(const StepEnd& end) {
  bottom_->end_step(end);
  embeddings_->end_step(end);
}

/// Counts the products of both passes, including those of the bottom network.
double Interaction::flops(bool reads_data) const {
  const auto f = static_cast<double>(features()), d = static_cast<double>(width());
  return bottom_->flops(reads_data) + (kind_ == Kind::dot ? 4 * f * f * d : 0);
}

}  // namespace onebit::sim
