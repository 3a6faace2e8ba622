#include "compress/channels/records.hpp"

#include <cmath>

namespace onebit::compress {

netmodel::Traffic record(netmodel::Collective collective, netmodel::Direction direction, netmodel::WireType type,
                         Index workers, Index bytes, Index tensor) {
  return {.collective = collective,
          .direction = direction,
          .type = type,
          .group_size = workers,
          .messages = messages_sent(collective, workers),
          .payload_bytes = bytes,
          .tensor = tensor,
          .overlaps_backward = collective == netmodel::Collective::all_reduce};
}

std::vector<Index> occupied(const device::Shard& shard, const Payload& payload, Index per_vector, Index rows_of_all) {
  const auto vectors = static_cast<std::size_t>(payload.segments() / per_vector);
  std::vector<double> sums(vectors);
  if (payload.sizes.size() == 0) {
    std::vector<Index> bytes(vectors);
    for (std::size_t v = 0; v < vectors; ++v) {
      const auto first = v * static_cast<std::size_t>(per_vector);
      bytes[v] = payload.offsets[first + static_cast<std::size_t>(per_vector)] - payload.offsets[first];
    }
    return bytes;
  }
  const std::vector<Index> sizes = payload.sizes.to_host();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sums[i % static_cast<std::size_t>(payload.segments()) / static_cast<std::size_t>(per_vector)] +=
        static_cast<double>(sizes[i]);
  }
  const std::vector<double> all = shard.communicator->all_gather(sums);
  std::vector<Index> bytes(vectors);
  for (std::size_t v = 0; v < vectors; ++v) {
    double total = 0;
    for (std::size_t i = v; i < all.size(); i += vectors) total += all[i];
    bytes[v] = static_cast<Index>(std::ceil(total / static_cast<double>(rows_of_all)));
  }
  return bytes;
}

}  // namespace onebit::compress
