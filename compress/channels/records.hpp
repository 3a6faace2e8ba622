#pragma once
// Makes the traffic records of the compressed channels from their payloads.

#include "compress/codecs/payload.hpp"
#include "device/comm/communicator.hpp"
#include "netmodel/wire/traffic.hpp"

namespace onebit::compress {

netmodel::Traffic record(netmodel::Collective collective, netmodel::Direction direction, netmodel::WireType type,
                         Index workers, Index bytes, Index tensor);

/// Bytes that each exchanged vector of `per_vector` segments occupies: the mean over the rows of all ranks, rounded up.
/// Collective if rows differ in size.
std::vector<Index> occupied(const device::Shard& shard, const Payload& payload, Index per_vector, Index rows_of_all);

}  // namespace onebit::compress
