#pragma once
// A step of data-parallel training: computation, codec and exposed communication.

#include "netmodel/plan/selector.hpp"
#include "netmodel/step/workload.hpp"

namespace onebit::netmodel {

enum class Overlap : std::uint8_t {
  none,     ///< communication follows the backward pass, as in the papers' measurements
  buckets,  ///< dense gradients travel in buckets during the last backward pass, as DDP does
};

/// How a codec is implemented: bytes of memory that it touches for each element.
enum class CodecKernels : std::uint8_t {
  fused,     ///< 14: momentum, error, signs and the new error in one pass each way
  released,  ///< 176: PyTorch and CuPy as released with 1-bit Adam (96 worker, 34 server, 46 unpacking)
};

struct StepOptions {
  Overlap overlap = Overlap::none;
  Bytes bucket{25e6};
  /// Fraction by which overlapped communication slows the backward pass down; 2 to 10% have been observed.
  double stretch = 0.05;
  CodecKernels codec = CodecKernels::fused;
  bool hierarchical = false;  ///< the compressed exchange is dense within nodes and 1-bit between them
  double gradient_bytes = 2;  ///< of an element in a dense all-reduce: fp16
};

/// What the workers of a step exchange.
struct StepTraffic {
  TrafficList exchanges;
  Index compressed = 0;  ///< elements of a worker's vector that a codec takes; 0: a dense step
};

struct StepEstimate {
  Seconds step, forward, backward, optimizer, codec;
  Seconds communication;      ///< exposed, which is part of the step
  Seconds all_communication;  ///< exposed or hidden
  Estimate exchange;          ///< its parts
  std::string algorithm;      ///< of the largest exchange
  std::string reason;
};

/// Prices a step on a fabric. Throws ConfigError if an exchange has no hierarchical form. Stragglers and jitter stretch
/// everyone's forward and backward passes, because all wait for the slowest: jitter s by 1 + s sqrt(2 ln N), the
/// expected maximum of N normals.
StepEstimate estimate_step(const ComputeTimes& compute, const StepTraffic& traffic, const Fabric& fabric,
                           const CostModel& model, const StepOptions& options);

/// The plans of a step's exchanges, in order; gradients are not split into buckets.
std::vector<Plan> step_plans(const StepTraffic& traffic, const Fabric& fabric, const CostModel& model,
                             const StepOptions& options);

/// End-to-end speed-up over a run: share w of its steps runs as before, the others s times as fast. 1 / (w + (1-w)/s).
double mixed_speedup(double warmup_share, double speedup);

/// The collectives of a 1-bit exchange that is dense within nodes: reduce-scatter within nodes, packed all-to-all and
/// all-gather on every rail, packed all-gather within nodes. `dense`, `up` and `down` are bytes of a whole vector.
std::vector<Request> hierarchical_exchange(Bytes dense, Bytes up, Bytes down, const Fabric& fabric);

}  // namespace onebit::netmodel
