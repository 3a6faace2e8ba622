#pragma once
// Records of what was sent, one per exchange. The channels of compress/ write them, the run log stores them, and the
// cost models price them. Nothing here depends on training.

#include <cstdint>
#include <string_view>
#include <vector>

#include "device/base/types.hpp"
#include "netmodel/wire/units.hpp"

namespace onebit::netmodel {

/// The collective of an exchange. `tree` is a binomial tree over the workers with one message on every edge. Messages
/// are merged on the way to the root (up) or passed on from it (down). The collectives listed after `tree` are planned
/// and priced, but no channel records them.
enum class Collective : std::uint8_t {
  all_reduce,
  all_to_all,
  all_gather,
  tree,
  reduce_scatter,
  gather,  ///< gather to servers; every rank is the server of a chunk
  broadcast,
  neighbour,  ///< exchange with the previous and the next rank
};

/// Direction of the data as with a parameter server: `up` carries the workers' contributions, `down` the result. A
/// dense all-reduce is `both`: half of its bytes (the reduce-scatter) count as up, and half (the all-gather) as down.
enum class Direction : std::uint8_t { up, down, both };

enum class WireType : std::uint8_t { fp32, bits, packed };

// Values of Traffic::tensor that stand for something other than a tensor.
inline constexpr Index kFusedVector = -1;
inline constexpr Index kActivations = -2;  ///< activations or their gradients, at a boundary between workers
inline constexpr Index kRowNumbers = -3;   ///< row numbers in tables, sent to the workers that own the rows

/// One exchange among the workers of a group, from the point of view of one worker.
struct Traffic {
  Collective collective = Collective::all_reduce;
  Direction direction = Direction::both;
  WireType type = WireType::fp32;
  Index group_size = 1;         ///< number of workers in the exchange, n
  Index messages = 0;           ///< number of messages that one worker sends
  Index payload_bytes = 0;      ///< bytes that one worker hands to the collective: its whole vector for all-reduce,
                                ///< all-to-all, reduce-scatter, gather and broadcast, its own block for all-gather, one
                                ///< message for tree, and the message to one neighbour for neighbour
  Index tensor = kFusedVector;  ///< index of the tensor in the model's table, or one of the constants above
  bool overlaps_backward = false;  ///< whether it may run during the backward pass

  friend bool operator==(const Traffic&, const Traffic&) = default;
};

using TrafficList = std::vector<Traffic>;

/// Returns whether an exchange belongs to model parallelism: activations, their gradients, or row numbers in tables.
inline bool is_of_boundary(const Traffic& traffic) {
  return traffic.tensor == kActivations || traffic.tensor == kRowNumbers;
}

/// Returns the bytes that one worker sends. With n workers and payload S: ring all-reduce 2(n-1)/n S; all-to-all,
/// reduce-scatter and gather (n-1)/n S; all-gather (n-1) S; tree ceil(log2 n) S, which the root, the busiest worker,
/// sends or receives; broadcast S (a chain); neighbour exchange 2 S. Zero for n = 1. Throws ConfigError for n < 1 or a
/// negative payload.
Bytes sent_bytes(const Traffic& traffic);

/// Returns the bytes that one worker sends in all exchanges of a list.
Bytes sent_bytes(const TrafficList& list);

/// Returns the part of sent_bytes that counts in a direction; all of it for Direction::both.
Bytes sent_bytes(const Traffic& traffic, Direction direction);

/// Returns the number of messages that one worker sends: 2(n-1) for ring all-reduce; n-1 for pairwise all-to-all, ring
/// all-gather, reduce-scatter and gather; ceil(log2 n) for a tree (the count is the root's, which sends them on the way
/// down and receives them on the way up); 1 for broadcast; 2 for neighbour exchange.
Index messages_sent(Collective collective, Index group_size);

std::string_view name(Collective collective);
std::string_view name(Direction direction);
std::string_view name(WireType type);

}  // namespace onebit::netmodel
