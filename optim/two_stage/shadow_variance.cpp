#include "optim/two_stage/shadow_variance.hpp"

namespace onebit::optim {

ShadowVariance::ShadowVariance(const Problem& problem, const OptimizerConfig& config,
                               const device::Buffer<float>& variance)
    : device_(problem.shard.device),
      clipping_(problem, config.clip),
      sum_(problem.shard, variance.size()),
      mean_(device_, variance.size()),
      variance_(device_, variance.size()) {
  variance_.upload(variance.to_host());
}

void ShadowVariance::update(const AdamStep& step) {
  sum_.take_mean(mean_.data());
  AdamStep clipped = step;
  clipped.gradient_factor = clipping_.factor(mean_);
  for_each(device_, mean_.size(), VarianceKernel{clipped, mean_.data(), variance_.data()});
}

}  // namespace onebit::optim
