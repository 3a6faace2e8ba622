#include "compress/channels/channel.hpp"
#include "compress/channels/records.hpp"

namespace onebit::compress {

DenseMean::DenseMean(const device::Shard& shard, Index parameters)
    : workers_(shard.workers()), parameters_(parameters), sum_(shard, parameters) {}

void DenseMean::exchange(float* mean, netmodel::TrafficList& traffic) {
  sum_.take_mean(mean);
  for (const netmodel::Traffic& exchange : plan(workers_, parameters_)) traffic.push_back(exchange);
}

netmodel::TrafficList DenseMean::plan(Index workers, Index parameters, Index tensor) {
  const Index bytes = parameters * static_cast<Index>(sizeof(float));
  return {record(netmodel::Collective::all_reduce, netmodel::Direction::both, netmodel::WireType::fp32, workers, bytes,
                 tensor)};
}

}  // namespace onebit::compress
