#include "sim/cluster/mean_rows.hpp"

#include "device/comm/dense_sum.hpp"

namespace onebit::sim {

device::Buffer<float> mean_of_rows(const device::Shard& shard, const device::Buffer<float>& rows, Index columns) {
  device::Buffer<float> mean(shard.device, columns);
  device::DenseSum sum(shard, mean.size());
  sum.absorb(shard.own(), rows.data(), mean.size());
  sum.take_mean(mean.data());
  return mean;
}

}  // namespace onebit::sim
