#include "optim/two_stage/onebit_adam.hpp"

#include "device/launch/launch.hpp"
#include "device/memory/grow.hpp"

namespace onebit::optim {

OnebitAdam::OnebitAdam(const Problem& problem, const OptimizerConfig& config) : TwoStage(problem, config) {
  // Refuse impossible configurations now, not at the freeze.
  const compress::ExchangeConfig exchange = exchange_of(config, quirks().padding_as_data);
  compress::check(problem.shard, problem.tensors, exchange);
  const bool compresses = codecs_of(config) != Codecs::none;
  if (compresses && core().freeze_policy().by_tensor()) compress::require_adoptable(exchange);
}

void OnebitAdam::dense_update(device::Buffer<float>& x, StepReport& report) {
  core().dense_update(updates(), lr(), x, report);
}

void OnebitAdam::refreshing_update(const AdamStep& step, device::Buffer<float>& x, StepReport& report) {
  core().update(step, x, report);
}

void OnebitAdam::make_exchange() {
  compress::ExchangeConfig exchange = exchange_of(config(), quirks().padding_as_data);
  exchange.dense_tensors = dense_tensors();
  exchange_ = std::make_unique<compress::CompressedMean>(problem().shard, problem().tensors, exchange);
}

void OnebitAdam::send(Range group, const float* gradients, Index stride, const float* factors) {
  if (!exchanges()) {  // with a single worker, its momentum is the new momentum
    for_each_row(device(), group.count, core().parameters(),
                 local_momenta(gradients, stride, factors, core().momentum().data(), 0));
    return;
  }
  exchange_->absorb(group, {.shared = core().momentum().data(),
                            .shared_factor = static_cast<float>(config().beta1),
                            .rows = gradients,
                            .stride = stride,
                            .factors = factors});
}

void OnebitAdam::receive(StepReport& report) {
  receive_compressed(packed_momentum() ? nullptr : received().data(), report);
}

void OnebitAdam::frozen_update(device::Buffer<float>& x, StepReport& report) {
  core().apply(frozen_step(), /*mask=*/!quirks().masks_nothing, x, report, packed_momentum(), moving());
}

std::optional<device::SignVector> OnebitAdam::packed_momentum() const {
  return exchange_ && exchanges() ? exchange_->packed_mean() : std::nullopt;
}

void OnebitAdam32::send(Range group, const float* gradients, Index stride, const float* factors) {
  if (!exchanges()) return OnebitAdam::send(group, gradients, stride, factors);
  const Index parameters = core().parameters();
  grow(rows_, device(), group.count * parameters);
  for_each_row(device(), group.count, parameters, local_momenta(gradients, stride, factors, rows_.data(), parameters));
  core().absorb_dense(group, rows_.data(), parameters);
}

void OnebitAdam32::receive(StepReport& report) {
  core().average_dense(received(), report);
}

}  // namespace onebit::optim
