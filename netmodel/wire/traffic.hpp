#pragma once
// What crossed the wire: one record per exchange. The channels of compress/ write it, the run log stores it, the cost
// models price it. Nothing here knows of training.

#include <cstdint>
#include <string_view>
#include <vector>

#include "device/base/types.hpp"
#include "netmodel/wire/units.hpp"

namespace onebit::netmodel {

/// `tree` is a binomial tree over the workers, a message on every edge, merged on the way to the root (up) or passed on
/// from it (down). The collectives after it are planned and priced; no channel records them.
enum class Collective : std::uint8_t {
  all_reduce,
  all_to_all,
  all_gather,
  tree,
  reduce_scatter,
  gather,  ///< to servers: every rank is the server of a chunk
  broadcast,
  neighbour,  ///< to the previous and the next rank
};

/// Direction of the data as with a parameter server: `up` carries the workers' contributions, `down` the result. A
/// dense all-reduce is `both`: half of its bytes (the reduce-scatter) count up, half (the all-gather) down.
enum class Direction : std::uint8_t { up, down, both };

enum class WireType : std::uint8_t { fp32, bits, packed };

/// One exchange among the workers of a group, seen by one worker.
struct Traffic {
  Collective collective = Collective::all_reduce;
  Direction direction = Direction::both;
  WireType type = WireType::fp32;
  Index group_size = 1;            ///< workers that take part, n
  Index messages = 0;              ///< messages that one worker sends
  Index payload_bytes = 0;         ///< bytes that one worker hands to the collective: its whole vector for all-reduce,
                                   ///< all-to-all, reduce-scatter, gather and broadcast, its own block for
                                   ///< all-gather, one message for a tree and for each neighbour
  Index tensor = -1;               ///< index of the tensor in the model's table; -1: the fused vector
  bool overlaps_backward = false;  ///< may run while the backward pass still computes

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

using TrafficList = std::vector<Traffic>;

/// Bytes that one worker puts on the wire. With n workers and payload S: ring all-reduce 2(n-1)/n S, all-to-all (n-1)/n
/// S, all-gather (n-1) S; tree ceil(log2 n) S, which the root, the busiest worker, sends or receives; reduce-scatter
/// and gather (n-1)/n S, broadcast S (a chain), neighbour exchange 2 S. Zero for n = 1. Throws ConfigError for n < 1 or
/// a negative payload.
Bytes sent_bytes(const Traffic& traffic);

/// Bytes that one worker puts on the wire in all exchanges of a list.
Bytes sent_bytes(const TrafficList& list);

/// The share of sent_bytes that counts in a direction; all of it for Direction::both.
Bytes sent_bytes(const Traffic& traffic, Direction direction);

/// Messages that one worker sends: ring all-reduce 2(n-1), pairwise all-to-all, ring all-gather, reduce-scatter and
/// gather n-1; a tree's root ceil(log2 n), received on the way up; broadcast 1, neighbour exchange 2.
Index messages_sent(Collective collective, Index group_size);

std::string_view name(Collective collective);
std::string_view name(Direction direction);
std::string_view name(WireType type);

}  // namespace onebit::netmodel
