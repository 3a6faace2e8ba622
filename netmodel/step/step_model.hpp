#pragma once
// A step of data-parallel training: computation, codec and exposed communication.

#include "netmodel/plan/selector.hpp"
#include "netmodel/step/workload.hpp"
#include "netmodel/wire/codec_passes.hpp"

namespace onebit::netmodel {

enum class Overlap : std::uint8_t {
  cluster,  ///< as the cluster specifies (Cluster::overlaps)
  none,     ///< communication follows the backward pass, as in the papers' measurements
  buckets,  ///< dense gradients travel in buckets during the last backward pass, as DDP does
};

/// What the workers divide among themselves in a dense step (ZeRO, Rajbhandari et al. 2020; FSDP is zero3). Compressed
/// steps are not sharded.
enum class Sharding : std::uint8_t {
  none,
  zero1,  ///< the optimizer's state: gradients are reduced and scattered, updated weights are gathered after the update
  zero2,  ///< the state and the gradients, with the same exchanges
  zero3,  ///< these and the weights, which are gathered in the forward and in the backward pass of every micro-batch;
          ///< its gradients are then reduced and scattered
  zeropp,  ///< the same with ZeRO++ (Wang et al. 2023): weights are gathered as int8 in the forward pass, and within
           ///< nodes in the backward pass, from a copy in each node; gradients travel as int4 in two all-to-alls,
           ///< within nodes and between them
};

/// Implementation of a codec. It determines how many bytes of memory the codec touches.
enum class CodecKernels : std::uint8_t {
  fused,     ///< the passes that fused kernels need (CodecPasses)
  released,  ///< the code that was released with the method (CodecPasses::released)
};

struct StepOptions {
  Overlap overlap = Overlap::cluster;
  /// Size of a bucket of gradients; 0: 25 MB, doubled as long as that saves time, or a single bucket after the pass if
  /// that is cheaper.
  Bytes bucket{};
  /// Fraction by which communication slows the backward pass down while the two overlap; slowdowns of 2 to 10% have
  /// been observed.
  double stretch = 0.05;
  CodecKernels codec = CodecKernels::fused;
  bool hierarchical = false;  ///< whether the compressed exchange is dense within nodes and 1-bit between them
  double gradient_bytes = 2;  ///< bytes per element of a dense gradient, and of sharded weights; 2: fp16
  Sharding sharding = Sharding::none;
};

/// The exchanges of a step.
struct StepTraffic {
  TrafficList exchanges;
  Index compressed = 0;  ///< number of elements of a worker's vector that a codec encodes; 0: a dense step
  CodecPasses passes{};  ///< what the codec costs; read only if `compressed` is not 0
  /// Whether the float32 all-reduces of a dense step carry gradients. Gradients may be sent during the backward pass
  /// and take StepOptions::gradient_bytes per element. Everything else that workers average (weights, moments) is
  /// exchanged after the update, as float32.
  bool gradients = true;

  friend bool operator==(const StepTraffic&, const StepTraffic&) = default;
};

struct StepEstimate {
  Seconds step, forward, backward, optimizer, codec;
  Seconds communication;      ///< exposed communication, a part of `step`
  Seconds all_communication;  ///< exposed and hidden communication
  Estimate exchange;          ///< parts of all_communication
  std::string algorithm;      ///< algorithm of the exchange that takes longest
  std::string reason;         ///< reason for this algorithm
};

/// Prices a step on a fabric. The float32 all-reduces of individual tensors are priced as one, because frameworks fuse
/// them. Throws ConfigError if an exchange has no hierarchical form, or no figure is known for a released codec.
/// Stragglers and jitter stretch the forward and backward passes, because all workers wait for the slowest one. Jitter
/// s stretches them by a factor of 1 + s m(N), where m(N) is the expected maximum of N standard normal variables.
StepEstimate estimate_step(const ComputeTimes& compute, const StepTraffic& traffic, const Fabric& fabric,
                           const CostModel& model, const StepOptions& options);

/// Returns the factor by which the slowest GPU is slower than a typical one: see estimate_step.
double slowdown(const Fabric& fabric);

/// Whether exchanges may overlap with the backward pass.
bool overlaps_backward(const Fabric& fabric, const StepOptions& options);

/// Returns the bytes of a step's dense gradients, which may be sent during the backward pass; 0: it sends none.
Bytes dense_gradients(const StepTraffic& traffic, const StepOptions& options);

/// Returns the step without its dense gradients.
StepTraffic without_dense_gradients(StepTraffic traffic);

/// Returns the plans of a step's exchanges, fused as estimate_step fuses them, in order. Gradients are not split into
/// buckets. Throws ConfigError for gradients of a sharded step.
std::vector<Plan> step_plans(const StepTraffic& traffic, const Fabric& fabric, const CostModel& model,
                             const StepOptions& options);

/// Returns the end-to-end speed-up of a run in which a share w of the steps runs as before and the others run s times
/// as fast: 1 / (w + (1-w)/s).
double mixed_speedup(double warmup_share, double speedup);

/// Returns the collectives of a 1-bit exchange that is dense within nodes: reduce-scatter within nodes, packed
/// all-to-all and all-gather on every rail, packed all-gather within nodes. `dense`, `up` and `down` are the bytes of a
/// whole vector.
std::vector<Request> hierarchical_exchange(Bytes dense, Bytes up, Bytes down, const Fabric& fabric);

}  // namespace onebit::netmodel
