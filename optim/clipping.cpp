#include "optim/clipping.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/launch.hpp"
#include "optim/kernels.hpp"

namespace onebit::optim {

double clip_factor(double norm, double bound) {
  return bound > 0 && norm > bound ? bound / (norm + 1e-6) : 1.0;
}

LocalClipping::LocalClipping(const Problem& problem, double bound)
    : shard_(problem.shard),
      bound_(bound),
      row_(problem.parameters()),
      factors_(problem.shard.device, problem.shard.own().count) {}

const float* LocalClipping::factors(Range group, const float* gradients, Index stride, double scale) {
  std::vector<float> factors(static_cast<std::size_t>(group.count), static_cast<float>(scale));
  if (bound_ > 0) {
    device::Buffer<double> sums(shard_.device, group.count);
    reduce(shard_.device, group.count, row_, SquareTerm{gradients, stride}, sums.data());
    const std::vector<double> squares = sums.to_host();
    for (std::size_t g = 0; g < squares.size(); ++g) {
      factors[g] = static_cast<float>(scale * clip_factor(std::sqrt(squares[g]), bound_));
    }
    squared_norms_.insert(squared_norms_.end(), squares.begin(), squares.end());
  }
  factors_.upload(factors);
  return factors_.data();
}

void LocalClipping::report(StepReport& report) const {
  if (bound_ == 0) return;
  const std::vector<double> squares = shard_.exchange->all_gather(squared_norms_);
  const auto n = static_cast<double>(squares.size());
  const auto clipped = std::count_if(squares.begin(), squares.end(),
                                     [&](double square) { return clip_factor(std::sqrt(square), bound_) < 1; });
  report.grad_norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) / n);
  report.clip_share = static_cast<double>(clipped) / n;
}

}  // namespace onebit::optim
