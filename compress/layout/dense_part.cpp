#include "compress/layout/dense_part.hpp"

#include <algorithm>

#include "compress/feedback/error_kernels.hpp"
#include "device/launch/launch.hpp"

namespace onebit::compress {

DensePart::DensePart(const device::Shard& shard, std::span<const Tensor> tensors, std::span<const char> dense)
    : shard_(shard) {
  const std::vector<Range> ranges = ranges_of(tensors);
  Index largest = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Index size = ranges[i].count;
    if (dense[i] == 0 || size == 0) continue;
    parts_.push_back({static_cast<Index>(i), ranges[i], device::DenseSum(shard, size)});
    largest = std::max(largest, size);
  }
  rows_ = device::Buffer<float>(shard.device, shard.own().count * largest);
}

void DensePart::absorb(Range group, const EncodeInput& input) {
  for (Part& part : parts_) {
    const auto [first, size] = part.range;
    for_each_row(shard_.device, group.count, size, DenseRowKernel{input, first, size, rows_.data()});
    part.sum.absorb(group, rows_.data(), size);
  }
}

void DensePart::exchange(float* result, netmodel::TrafficList& traffic) {
  for (Part& part : parts_) part.sum.take_mean(result + part.range.first);
  for (const netmodel::Traffic& record : plan()) traffic.push_back(record);
}

netmodel::TrafficList DensePart::plan() const {
  netmodel::TrafficList traffic;
  for (const Part& part : parts_) {
    traffic.push_back(DenseMean::plan(shard_.workers(), part.range.count, part.tensor).front());
  }
  return traffic;
}

}  // namespace onebit::compress
