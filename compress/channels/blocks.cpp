#include "compress/channels/blocks.hpp"

#include <algorithm>

namespace onebit::compress {

std::vector<Index> largest_sizes(const device::Shard& shard, const Payload& payload) {
  const auto segments = static_cast<std::size_t>(payload.segments());
  const std::vector<Index> sizes = payload.sizes.to_host();
  std::vector<double> own(segments);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    double& largest = own[i % segments];
    largest = std::max(largest, static_cast<double>(sizes[i]));
  }
  const std::vector<double> all = shard.communicator->all_gather(own);
  return {all.begin(), all.end()};
}

}  // namespace onebit::compress
