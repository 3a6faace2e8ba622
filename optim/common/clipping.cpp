#include "optim/common/clipping.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/launch/launch.hpp"
#include "optim/adam/adam_kernels.hpp"
#include "optim/common/sums.hpp"

namespace onebit::optim {

MeanClipping::MeanClipping(const Problem& problem, double bound)
    : device_(problem.shard.device), bound_(bound), whole_(problem.parameters()), factor_(device_, 1) {}

const float* MeanClipping::factor(const device::Buffer<float>& mean) {
  device::Buffer<double> square(device_, 1);
  reduce(device_, 1, whole_, SquareTerm{mean.data(), 0}, square.data());
  square_ = square.fetch();
  if (bound_ == 0) return nullptr;
  for_each(device_, 1, ClipKernel{square.data(), bound_, 1, factor_.data()});
  return factor_.data();
}

void MeanClipping::report(StepReport& report) const {
  report.grad_norm = norm_of(square_);
  report.clip_share =
      device::Number([norm = report.grad_norm, bound = bound_] { return clip_factor(norm, bound) < 1 ? 1.0 : 0.0; });
}

LocalClipping::LocalClipping(const Problem& problem, double bound)
    : shard_(problem.shard),
      bound_(bound),
      row_(problem.parameters()),
      factors_(problem.shard.device, problem.shard.own().count) {}

const float* LocalClipping::factors(Range group, const float* gradients, Index stride, double scale) {
  if (bound_ == 0) {
    factors_.upload(std::vector<float>(static_cast<std::size_t>(group.count), static_cast<float>(scale)));
    return factors_.data();
  }
  device::Buffer<double> squares(shard_.device, group.count);
  reduce(shard_.device, group.count, row_, SquareTerm{gradients, stride}, squares.data());
  for_each(shard_.device, group.count, ClipKernel{squares.data(), bound_, scale, factors_.data()});
  squares_.push_back(squares.fetch());
  return factors_.data();
}

void LocalClipping::report(StepReport& report) const {
  if (bound_ == 0) return;
  std::vector<double> own;
  for (const device::Future<double>& group : squares_) own.insert(own.end(), group.begin(), group.end());
  const std::vector<double> squares = shard_.communicator->all_gather(own);
  const auto n = static_cast<double>(squares.size());
  const auto clipped = std::count_if(squares.begin(), squares.end(),
                                     [&](double square) { return clip_factor(std::sqrt(square), bound_) < 1; });
  report.grad_norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) / n);
  report.clip_share = static_cast<double>(clipped) / n;
}

}  // namespace onebit::optim
