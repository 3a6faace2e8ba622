#include "optim/onebit_adam.hpp"

#include "device/grow.hpp"
#include "device/launch.hpp"

namespace onebit::optim {

void OnebitAdam::dense_update(device::Buffer<float>& x, StepReport& report) {
  core().dense_update(updates(), lr(), x, report);
}

void OnebitAdam::refreshing_update(const AdamStep& step, device::Buffer<float>& x, StepReport& report) {
  core().update(step, x, report);
}

void OnebitAdam::make_exchange() {
  exchange_.emplace(problem().shard, problem().tensors, exchange_of(config()));
}

void OnebitAdam::send(Range group, const float* gradients, Index stride, const float* factors) {
  if (!exchanges()) {  // the only worker's momentum is the new one
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
  receive_compressed(packed_momentum() ? nullptr : core().momentum().data(), report);
}

void OnebitAdam::frozen_update(device::Buffer<float>& x, StepReport& report) {
  core().move(frozen_step(), /*mask=*/!deepspeed(), x, report, packed_momentum());
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
  core().average_dense(core().momentum(), report);
}

}  // namespace onebit::optim
