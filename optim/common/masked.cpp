#include "optim/common/masked.hpp"

#include <algorithm>
#include <array>

#include "device/launch/launch.hpp"
#include "optim/adam/adam_kernels.hpp"

namespace onebit::optim {
namespace {

constexpr Index kPiece = Index{1} << 20;

/// Appends the indices of the zeros in a part. Reads in pieces, because the vector may be as large as memory allows.
void add_zeros(const device::Buffer<float>& values, Range part, std::vector<Index>& zeros) {
  std::vector<float> host(static_cast<std::size_t>(std::min(kPiece, part.count)));
  for (Index first = part.first; first < part.end(); first += kPiece) {
    const Index count = std::min(kPiece, part.end() - first);
    values.download({host.data(), static_cast<std::size_t>(count)}, first);
    for (Index i = 0; i < count; ++i) {
      if (host[static_cast<std::size_t>(i)] == 0.0f) zeros.push_back(first + i);
    }
  }
}

/// Returns the indices of the zeros in the parts. In a plan there are no zeros; only one piece of each part is read, so
/// that the host memory is counted.
std::vector<Index> zeros_of(const device::Device& device, const device::Buffer<float>& values,
                            std::span<const Range> parts) {
  std::vector<Index> zeros;
  for (Range part : parts) {
    if (device.plans()) part.count = std::min(part.count, kPiece);
    add_zeros(values, part, zeros);
  }
  return zeros;
}

}  // namespace

MaskedCoordinates::MaskedCoordinates(const device::Shard& shard, const device::Buffer<float>& variance)
    : MaskedCoordinates(shard, variance, std::array{Range{0, variance.size()}}) {}

MaskedCoordinates::MaskedCoordinates(const device::Shard& shard, const device::Buffer<float>& variance,
                                     std::span<const Range> frozen)
    : shard_(shard),
      coordinates_(device::Buffer<Index>::copy_of(shard.device, zeros_of(shard.device, variance, frozen))),
      found_(device::Buffer<double>::zeros(shard.device, shard.own().count)) {}

void MaskedCoordinates::follow(const device::Buffer<float>& variance, std::span<const Range> frozen) {
  coordinates_ = device::Buffer<Index>::copy_of(shard_.device, zeros_of(shard_.device, variance, frozen));
}

void MaskedCoordinates::watch(Range group, const float* gradients, Index stride) {
  if (!watches()) return;
  reduce(shard_.device, group.count, device::Chunks(count()),
         MaskedGradientTerm{coordinates_.data(), gradients, stride}, found_.data() + group.first - shard_.own().first);
  if (group.end() == shard_.own().end()) counts_ = found_.fetch();
}

void MaskedCoordinates::report(StepReport& report) {
  if (!watches()) return;
  const auto first = std::find_if(counts_.begin(), counts_.end(), [](double n) { return n > 0; });
  std::array<double, 2> own = {0, 0};
  if (first != counts_.end()) own = {static_cast<double>(shard_.own().first + (first - counts_.begin())), *first};
  const std::vector<double> all = shard_.communicator->all_gather(own);
  for (std::size_t i = 0; i < all.size() && !reported_; i += 2) {
    if (all[i + 1] == 0) continue;
    reported_ = true;
    report.events.push_back({"masked", "worker " + std::to_string(static_cast<Index>(all[i])) + " has a gradient at " +
                                           std::to_string(static_cast<Index>(all[i + 1])) +
                                           " masked coordinates (v = 0 at the freeze): their momentum stays 0"});
  }
}

}  // namespace onebit::optim
