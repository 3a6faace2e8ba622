#include "optim/two_stage/tensor_freeze.hpp"

#include <algorithm>

namespace onebit::optim {

TensorFreeze::TensorFreeze(const Problem& problem, const VarianceBias& bias, const FreezePolicy& policy)
    : bias_(bias), moving_(problem.shard.device, static_cast<Index>(problem.tensors.size())) {
  const std::vector<Range> ranges = compress::ranges_of(problem.tensors);
  for (std::size_t t = 0; t < ranges.size(); ++t) {
    watched_.push_back({problem.tensors[t].name, ranges[t], StabilityWatch(policy.lag(), bias_), policy});
  }
  update_marks();
}

/// Recomputes the counts and marks from frozen_by.
void TensorFreeze::update_marks() {
  tensors_ = std::ranges::count_if(watched_, [](const Watched& each) { return each.range.count > 0; });
  frozen_ = std::ranges::count_if(watched_, [](const Watched& each) { return each.frozen_by > 0; });
  std::vector<std::uint8_t> moving;
  for (const Watched& each : watched_) moving.push_back(each.moves() ? 1 : 0);
  moving_.upload(moving);
}

std::vector<char> TensorFreeze::moving_after(Index updates) const {
  std::vector<char> marks;
  for (const Watched& each : watched_) marks.push_back(each.moves() || each.frozen_by > updates ? 1 : 0);
  return marks;
}

std::vector<char> TensorFreeze::all_but_frozen_by(Index update) const {
  std::vector<char> marks;
  for (const Watched& each : watched_) marks.push_back(each.frozen_by == update ? 0 : 1);
  return marks;
}

bool TensorFreeze::froze_by(Index update) const {
  return std::ranges::any_of(watched_, [update](const Watched& each) { return each.frozen_by == update; });
}

std::vector<Range> TensorFreeze::frozen() const {
  std::vector<Range> ranges;
  for (const Watched& each : watched_) {
    if (each.frozen_by > 0) ranges.push_back(each.range);
  }
  return ranges;
}

device::Future<double> TensorFreeze::norms(const AdamCore& core) const {
  return core.tensor_sums(1, TensorAbsoluteTerm{core.rules().data(), core.variance().data()});
}

device::Future<double> TensorFreeze::follow(AdamCore& core, Index t) const {
  const AdamStep step = core.numbers(t, t, 0);
  const double before = bias_.weight(t - 1), now = bias_.weight(t);
  const auto kept = static_cast<float>(bias_.beta2 * before / now);
  const auto added = static_cast<float>((1 - bias_.beta2) / now);
  return core.tensor_sums(
      1, MovingVarianceKernel{step.beta1, step.one_minus_beta1, kept, added, core.rules().data(), moving(),
                              core.mean().data(), core.momentum().data(), core.variance().data()});
}

void TensorFreeze::remove_bias(device::Buffer<float>& variance, Index updates) {
  const double weight = bias_.weight(updates);
  std::vector<float> values = variance.to_host();
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) / weight);
  variance.upload(values);
  biased_ = false;
}

bool TensorFreeze::freeze_stable(Index t, const device::Future<double>& norms) {
  const double weight = biased_ ? 1 : bias_.weight(t);  // the policy watches the norm with its bias
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Watched& each = watched_[i];
    if (each.moves() && each.policy.freeze_now(t, each.watch.push(norms[i] * weight))) each.frozen_by = t;
  }
  if (!froze_by(t)) return false;
  update_marks();
  return true;
}

void TensorFreeze::tell(Index update, StepReport& report) const {
  for (const Watched& each : watched_) {
    if (each.frozen_by != update) continue;
    report.events.push_back({"tensor-freeze", "tensor " + each.name + " frozen after " + std::to_string(update) +
                                                  " updates; " + progress() + " are frozen"});
  }
}

std::string TensorFreeze::progress() const {
  return std::to_string(frozen_) + " of " + std::to_string(tensors_) + " tensors";
}

void TensorFreeze::visit_state(device::StateVisitor& visitor) {
  visitor.number("biased", biased_);
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Watched& each = watched_[i];
    visitor.group(std::to_string(i), [&] {
      visitor.number("frozen_by", each.frozen_by);
      if (!each.moves()) return;
      each.watch.visit_state(visitor);
      each.policy.visit_state(visitor);
    });
  }
  if (visitor.loads()) update_marks();
}

}  // namespace onebit::optim
