#include "netmodel/wire/traffic.hpp"

#include <algorithm>

#include "device/base/error.hpp"

namespace onebit::netmodel {
namespace {

constexpr const char* kHint = "the log may be damaged: see 'onebit inspect'";

/// Returns n - 1, which every formula here uses. Throws ConfigError for n < 1.
Index others(Index group_size) {
  if (group_size < 1) throw ConfigError("an exchange has " + std::to_string(group_size) + " workers", "", kHint);
  return group_size - 1;
}

/// Returns the number of rounds of a binomial tree, ceil(log2 n).
Index rounds(Index group_size) {
  Index count = 0;
  for (Index rest = others(group_size); rest > 0; rest /= 2) ++count;
  return count;
}

}  // namespace

Bytes sent_bytes(const Traffic& traffic) {
  if (traffic.payload_bytes < 0) throw ConfigError("an exchange has a negative number of bytes", "", kHint);
  const auto others_n = static_cast<double>(others(traffic.group_size));
  const auto n = static_cast<double>(traffic.group_size);
  const auto payload = static_cast<double>(traffic.payload_bytes);
  switch (traffic.collective) {  // multiply first: the product is exact, so a whole quotient is exact too
    case Collective::all_reduce:
      return Bytes(2 * others_n * payload / n);
    case Collective::all_to_all:
    case Collective::reduce_scatter:
    case Collective::gather:
      return Bytes(others_n * payload / n);
    case Collective::all_gather:
      return Bytes(others_n * payload);
    case Collective::tree:
      return Bytes(static_cast<double>(rounds(traffic.group_size)) * payload);
    case Collective::broadcast:
      return Bytes(others_n > 0 ? payload : 0);
    case Collective::neighbour:
      return Bytes(others_n > 0 ? 2 * payload : 0);
  }
  throw ConfigError("an exchange is of an unknown kind", "", kHint);
}

Bytes sent_bytes(const TrafficList& list) {
  Bytes sum;
  for (const Traffic& traffic : list) sum += sent_bytes(traffic);
  return sum;
}

Bytes sent_bytes(const Traffic& traffic, Direction direction) {
  const Bytes all = sent_bytes(traffic);
  if (direction == Direction::both || traffic.direction == direction) return all;
  return traffic.direction == Direction::both ? 0.5 * all : Bytes(0);
}

Index messages_sent(Collective collective, Index group_size) {
  switch (collective) {
    case Collective::tree:
      return rounds(group_size);
    case Collective::all_reduce:
      return 2 * others(group_size);
    case Collective::broadcast:
      return std::min<Index>(1, others(group_size));
    case Collective::neighbour:
      return 2 * std::min<Index>(1, others(group_size));
    default:
      return others(group_size);
  }
}

std::string_view name(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::all_gather:
      return "all_gather";
    case Collective::tree:
      return "tree";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::gather:
      return "gather";
    case Collective::broadcast:
      return "broadcast";
    case Collective::neighbour:
      return "neighbour";
  }
  return "?";
}

std::string_view name(Direction direction) {
  switch (direction) {
    case Direction::up:
      return "up";
    case Direction::down:
      return "down";
    case Direction::both:
      return "both";
  }
  return "?";
}

std::string_view name(WireType type) {
  switch (type) {
    case WireType::fp32:
      return "fp32";
    case WireType::bits:
      return "bits";
    case WireType::packed:
      return "packed";
  }
  return "?";
}

}  // namespace onebit::netmodel
