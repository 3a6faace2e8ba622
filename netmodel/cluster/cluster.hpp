#pragma once
// What exchanges are priced on: nodes of GPUs, their links, and the tables of presets (presets.cpp).

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/base/types.hpp"
#include "netmodel/wire/units.hpp"

namespace onebit::netmodel {

/// One direction of a full-duplex link.
struct LinkSpec {
  BytesPerSecond nominal;       ///< line rate, what the link is sold as: algorithms are chosen by it
  BytesPerSecond effective;     ///< what collectives get out of it: exchanges are priced with it
  Seconds latency;              ///< of one step of a collective, software included
  Seconds per_message{};        ///< what a sender spends on each message in addition
  BytesPerSecond stream_cap{};  ///< the most that one stream gets, as on TCP; 0: the whole link
  double scale_penalty = 0;     ///< k: the effective rate on M nodes is effective / (1 + k log2 M)
};

/// Where numbers come from.
enum class Source : std::uint8_t {
  published,  ///< read in a published source: tuner constants, a paper, a vendor's measurement
  fitted,     ///< fitted to published measurements of a whole cluster
  estimated,  ///< an engineering estimate: calibrate before you rely on it
};

/// The link by which a GPU reaches the others of its node.
struct GpuLink {
  std::string_view name, doc;
  Source source = Source::estimated;
  LinkSpec link;
  bool nvlink = false;
};

/// A GPU model. Steps of a workload that was measured on another one are scaled.
struct Gpu {
  std::string_view name, doc;
  Source source = Source::estimated;
  BytesPerSecond memory;  ///< what element-wise kernels get
  double speed = 1;       ///< of training in mixed precision; 1: a V100 with NVLink
};

/// Which node every rank runs on.
enum class Placement : std::uint8_t {
  contiguous,   ///< ranks 0 to G-1 on the first node, and so on
  interleaved,  ///< rank r on node r mod M
  random,       ///< shuffled, always the same way
};

/// How an all-reduce finds its algorithm.
enum class Selection : std::uint8_t {
  ring,
  hierarchical,
  tree,
  halving,
  leader,    ///< these five: always that one
  nccl,      ///< ring or tree, as NCCL's tuner decides by nominal speeds
  cheapest,  ///< the one that the cost model prices lowest
};

/// A factor that applies to one node.
struct NodeFactor {
  Index node = 0;
  double factor = 1;

  friend bool operator==(const NodeFactor&, const NodeFactor&) = default;
};

/// Equal nodes of GPUs that share their node's network link, and a switch. A GPU runs one worker (rank).
struct Cluster {
  std::string name;
  std::string doc;  ///< one line for people
  Source source = Source::estimated;
  Index nodes = 0;  ///< 0: as many as the workers need
  Index gpus_per_node = 1;
  LinkSpec nic;                 ///< all network links of a node together
  LinkSpec gpu_link;            ///< of each GPU to the others of its node
  bool nvlink = true;           ///< whether gpu_link is NVLink, which NCCL's tuner depends on
  std::string gpu = "a100";     ///< name in gpus()
  double oversubscription = 1;  ///< all NICs together / what the core of the network carries
  Placement placement = Placement::contiguous;
  Selection all_reduce = Selection::nccl;
  bool pairwise_all_to_all = false;      ///< in rounds, one partner each; else all at once (burst)
  bool direct_all_gather = false;        ///< every block straight to everyone; else around a ring
  std::vector<NodeFactor> nic_shares{};  ///< nodes whose NIC has this share of the rate
  std::vector<NodeFactor> stragglers{};  ///< nodes that compute this many times as long
  double jitter = 0;                     ///< standard deviation of a GPU's computing time, as a share of it
};

/// Faster than any link: a higher rate means that bits were given where bytes are wanted.
inline constexpr BytesPerSecond kFastestLink{1e13};

/// Throws ConfigError, with one line that names the field, for an impossible cluster: a link without speed or above
/// kFastestLink, a negative latency, an unknown node or GPU.
void check(const Cluster& cluster);

/// All presets, slowest network first.
std::span<const Cluster> clusters();
std::span<const GpuLink> gpu_links();
std::span<const Gpu> gpus();

/// The preset of that name. Throws ConfigError that suggests names if there is none.
const Cluster& find_cluster(std::string_view name);
const GpuLink& find_gpu_link(std::string_view name);
const Gpu& find_gpu(std::string_view name);

std::string_view name(Source source);

}  // namespace onebit::netmodel
