#include "optim/shadow_variance.hpp"

#include "optim/clipping.hpp"

namespace onebit::optim {

ShadowVariance::ShadowVariance(const Problem& problem, const OptimizerConfig& config,
                               const device::Buffer<float>& variance)
    : device_(problem.shard.device),
      clip_(config.clip),
      sum_(problem.shard, variance.size()),
      mean_(device_, variance.size()),
      variance_(device_, variance.size()) {
  variance_.upload(variance.to_host());
}

void ShadowVariance::update(const AdamStep& step) {
  sum_.take_mean(mean_.data());
  const auto square = sums(device_, 1, device::Chunks(mean_.size()), SquareTerm{mean_.data(), 0});
  AdamStep clipped = step;
  clipped.gradient_factor = static_cast<float>(mean_factor(square, clip_));
  for_each(device_, mean_.size(), VarianceKernel{clipped, mean_.data(), variance_.data()});
}

}  // namespace onebit::optim
