#include "optim/masked.hpp"

#include <algorithm>
#include <array>

#include "device/launch.hpp"
#include "optim/kernels.hpp"

namespace onebit::optim {
namespace {

std::vector<Index> zeros_of(const device::Buffer<float>& values) {
  std::vector<Index> zeros;
  const std::vector<float> host = values.to_host();
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (host[i] == 0.0f) zeros.push_back(static_cast<Index>(i));
  }
  return zeros;
}

}  // namespace

MaskedCoordinates::MaskedCoordinates(const device::Shard& shard, const device::Buffer<float>& variance)
    : shard_(shard), coordinates_(device::Buffer<Index>::copy_of(shard.device, zeros_of(variance))) {}

void MaskedCoordinates::watch(Range group, const float* gradients, Index stride) {
  if (!watches() || first_.count > 0) return;
  device::Buffer<double> sums(shard_.device, group.count);
  reduce(shard_.device, group.count, device::Chunks(count()),
         MaskedGradientTerm{coordinates_.data(), gradients, stride}, sums.data());
  const std::vector<double> counts = sums.to_host();
  const auto found = std::find_if(counts.begin(), counts.end(), [](double n) { return n > 0; });
  if (found != counts.end()) first_ = {group.first + (found - counts.begin()), *found};
}

void MaskedCoordinates::report(StepReport& report) {
  if (!watches()) return;
  const std::array<double, 2> own = {static_cast<double>(first_.worker), first_.count};
  const std::vector<double> all = shard_.exchange->all_gather(own);
  for (std::size_t i = 0; i < all.size() && !reported_; i += 2) {
    if (all[i + 1] == 0) continue;
    reported_ = true;
    report.events.push_back({"masked", "worker " + std::to_string(static_cast<Index>(all[i])) + " has a gradient at " +
                                           std::to_string(static_cast<Index>(all[i + 1])) +
                                           " masked coordinates (v = 0 at the freeze): their momentum stays 0"});
  }
}

}  // namespace onebit::optim
