#pragma once
// What exchanges are priced on: clusters and their links, and the table of presets (presets.cpp).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "netmodel/units.hpp"

namespace onebit::netmodel {

/// One direction of a full-duplex link.
struct LinkSpec {
  BytesPerSecond nominal;    ///< line rate, what the link is sold as
  BytesPerSecond effective;  ///< what a collective gets out of it: the rate that exchanges are priced with
  Seconds latency;           ///< of one step of a ring, software included
};

/// Where a preset's numbers come from.
enum class Source : std::uint8_t {
  published,  ///< read in a published source: tuner constants, a paper, a vendor's measurement
  fitted,     ///< fitted to published measurements of a whole cluster
  estimated,  ///< an engineering estimate: calibrate before you rely on it
};

/// Equal nodes with one GPU (one worker) each, behind one network link each and a switch that never blocks. The number
/// of workers is no property of the cluster: it is the group size of the exchange.
struct Cluster {
  std::string name;
  std::string doc;  ///< one line for people
  Source source = Source::estimated;
  LinkSpec link;
};

/// All presets, slowest link first.
std::span<const Cluster> clusters();

/// The preset of that name; ConfigError that suggests names if there is none.
const Cluster& find_cluster(std::string_view name);

std::string_view name(Source source);

}  // namespace onebit::netmodel
