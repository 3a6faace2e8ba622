#include "compress/layout/dense_part.hpp"

#include <algorithm>

#include "compress/feedback/error_kernels.hpp"
#include "device/launch/launch.hpp"

namespace onebit::compress {

DensePart::DensePart(const device::Shard& shard, std::span<const Tensor> tensors, std::span<const char> dense)
    : shard_(shard) {
  Index first = 0, largest = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Index size = tensors[i].size;
    if (dense[i] != 0 && size > 0) {
      parts_.push_back({static_cast<Index>(i), first, size, device::DenseSum(shard, size)});
      largest = std::max(largest, size);
    }
    first += size;
  }
  rows_ = device::Buffer<float>(shard.device, shard.own().count * largest);
}

void DensePart::absorb(Range group, const EncodeInput& input) {
  for (Part& part : parts_) {
    for_each_row(shard_.device, group.count, part.size, DenseRowKernel{input, part.first, part.size, rows_.data()});
    part.sum.absorb(group, rows_.data(), part.size);
  }
}

void DensePart::exchange(float* result, netmodel::TrafficList& traffic) {
  for (Part& part : parts_) part.sum.take_mean(result + part.first);
  for (const netmodel::Traffic& record : plan()) traffic.push_back(record);
}

netmodel::TrafficList DensePart::plan() const {
  netmodel::TrafficList traffic;
  for (const Part& part : parts_) {
    traffic.push_back(DenseMean::plan(shard_.workers(), part.size, part.tensor).front());
  }
  return traffic;
}

}  // namespace onebit::compress
