#pragma once
// Clusters, on which exchanges are priced: nodes of GPUs, their links, and the tables of presets (presets.cpp).

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
  BytesPerSecond nominal;       ///< advertised line rate; the choice of algorithms depends on it
  BytesPerSecond effective;     ///< rate that collectives reach, with the time for adding included; exchanges are
                                ///< priced with it
  Seconds latency;              ///< latency of one step of a ring with NCCL's Simple protocol, software included
  Seconds per_message{};        ///< additional time that a sender spends on each message
  BytesPerSecond stream_cap{};  ///< maximum rate of one stream, such as a TCP connection; 0: no limit
  double scale_penalty = 0;     ///< k: the effective rate on M nodes is effective / (1 + k log2 M)
};

/// Origin of a preset's numbers.
enum class Source : std::uint8_t {
  published,  ///< taken from a published source: tuner constants, a paper, a vendor's measurement
  fitted,     ///< fitted to published measurements of a whole cluster
  estimated,  ///< an engineering estimate; calibrate before you rely on it
};

/// The link between a GPU and the other GPUs of its node.
struct GpuLink {
  std::string_view name, doc;
  Source source = Source::estimated;
  LinkSpec link;
  bool nvlink = false;
  double nvls = 0;  ///< as in Cluster
};

/// Generation of a GPU, on which limits of NCCL's protocols depend.
enum class Generation : std::uint8_t { volta, ampere, hopper, blackwell };

/// A GPU model. If a workload was measured only on another model, its times are scaled.
struct Gpu {
  std::string_view name, doc;
  Source source = Source::estimated;
  Generation generation = Generation::ampere;
  BytesPerSecond memory;  ///< memory bandwidth that element-wise kernels reach
  double speed = 1;       ///< training speed in mixed precision, relative to a V100 with NVLink
  Bytes capacity;         ///< size of its memory; that of the usual version if there are several
  /// Published peak rate of 16-bit matrix products, in operations per second, without sparsity; if there are several
  /// versions, that of the fastest one that the row's name covers.
  double peak = 0;
};

/// Assignment of ranks to nodes.
enum class Placement : std::uint8_t {
  contiguous,   ///< ranks 0 to G-1 on the first node, and so on
  interleaved,  ///< rank r on node r mod M
  random,       ///< shuffled with a fixed seed
};

/// The algorithm of an all-reduce: a fixed one, or one that a rule chooses.
enum class Selection : std::uint8_t {
  ring,
  hierarchical,
  tree,
  halving,
  leader,
  nvls,      ///< the nodes' switches add the vectors; trees between nodes
  nccl,      ///< ring, tree or NVLS, as NCCL's tuner decides from nominal rates
  cheapest,  ///< the algorithm that the cost model prices lowest
};

/// A factor that applies to one node.
struct NodeFactor {
  Index node = 0;
  double factor = 1;

  friend bool operator==(const NodeFactor&, const NodeFactor&) = default;
};

/// Nodes with equal numbers of GPUs of one kind, joined by a network. Each GPU runs one worker (rank).
struct Cluster {
  std::string name;
  std::string doc;  ///< one-line description
  Source source = Source::estimated;
  double uncertainty = 0;  ///< share by which real times on its links may differ from prices; 0: see uncertainty_of
  Index nodes = 0;         ///< number of nodes; 0: as many as the workers need
  Index gpus_per_node = 1;
  Index gpus_per_nic = 0;  ///< number of GPUs that share a network link; 0: all GPUs of a node share one
  LinkSpec nic;            ///< a network link
  LinkSpec gpu_link;       ///< link of each GPU to the other GPUs of its node
  bool nvlink = true;      ///< whether gpu_link is NVLink, which NCCL's tuner depends on
  /// Rate at which an all-reduce by the node's switch takes bytes from every GPU, relative to gpu_link's rate; 0: the
  /// switch cannot add (no NVLink SHARP).
  double nvls = 0;
  std::string gpu = "a100";     ///< name in gpus()
  Bytes gpu_memory{};           ///< size of a GPU's memory; 0: the usual size of this kind of GPU
  double oversubscription = 1;  ///< total rate of a leaf switch's nodes / rate of its uplinks
  Index nodes_per_leaf = 1;     ///< number of nodes under a leaf switch; traffic between them does not use the uplinks
  Placement placement = Placement::contiguous;
  Selection all_reduce = Selection::nccl;
  /// Whether gradients are exchanged during the backward pass. False for clusters of papers whose measurements were
  /// made without overlap.
  bool overlaps = true;
  bool pairwise_all_to_all = false;      ///< all-to-all in rounds with one partner each; otherwise at once (burst)
  bool direct_all_gather = false;        ///< all-gather that sends blocks directly to all; otherwise around a ring
  std::vector<NodeFactor> nic_shares{};  ///< nodes whose NIC has this share of the rate
  std::vector<NodeFactor> stragglers{};  ///< nodes whose computation takes this many times as long
  double jitter = 0;                     ///< standard deviation of a GPU's compute time, as a share of the mean
};

/// Upper bound on the rate of a link. A higher number was probably given in bits instead of bytes.
inline constexpr BytesPerSecond kFastestLink{1e13};

/// Throws a ConfigError that names the field if the cluster is impossible: a link whose rate is 0 or above
/// kFastestLink, a negative latency, an unknown node or GPU.
void check(const Cluster& cluster);

/// All presets, slowest network first.
std::span<const Cluster> clusters();
std::span<const GpuLink> gpu_links();
std::span<const Gpu> gpus();

/// Returns the preset of that name. Throws ConfigError, with suggestions, if there is none.
const Cluster& find_cluster(std::string_view name);
const GpuLink& find_gpu_link(std::string_view name);
const Gpu& find_gpu(std::string_view name);

std::string_view name(Source source);

/// Returns the cluster's uncertainty or, if it specifies none, the default for its source. 90% of published all-reduces
/// of 4 ms and longer lie within the default for fitted and published clusters (docs/price-measured.md); the default
/// for estimated ones is a judgement.
double uncertainty_of(const Cluster& cluster);

/// Returns the cluster with faster links: the effective rates and stream caps of all links are multiplied by a factor,
/// but limited to kFastestLink, and their latencies and times per message are divided by the factor. If an effective
/// rate then exceeds the nominal one, the nominal rate is raised to it.
Cluster with_faster_links(Cluster cluster, double factor);

}  // namespace onebit::netmodel
