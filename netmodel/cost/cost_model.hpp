#pragma once
// The interface of cost models: how long a plan takes on a fabric.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "netmodel/plan/plan.hpp"
#include "netmodel/wire/units.hpp"

namespace onebit::netmodel {

/// A link, such as the one that limits a phase.
struct Link {
  enum class Kind : std::uint8_t { none, gpu_out, gpu_in, nic_out, nic_in, leaf_out, leaf_in };
  Kind kind = Kind::none;
  Index number = 0;  ///< number of the slot, node or leaf switch
};

/// The name of a link, such as "network link of node 3 (out)".
std::string text(const Link& link);

/// Time of a plan and its parts, without codecs.
struct Estimate {
  Seconds total;          ///< sum of latency and bandwidth
  Seconds latency;        ///< time spent on steps and messages, independent of their size
  Seconds bandwidth;      ///< time spent on bytes
  Seconds fill;           ///< part of `bandwidth` in which pipelines fill and drain: fill_time()
  Bytes nic_bytes;        ///< bytes through the busiest node's network link, in the direction that carries more
  Link bottleneck;        ///< busiest link of the phase that spends the most time on bytes
  Seconds at_bottleneck;  ///< time that this phase spends on bytes

  Estimate& operator+=(const Estimate& other) {
    total += other.total;
    latency += other.latency;
    bandwidth += other.bandwidth;
    fill += other.fill;
    nic_bytes += other.nic_bytes;
    if (other.at_bottleneck > at_bottleneck) {
      bottleneck = other.bottleneck;
      at_bottleneck = other.at_bottleneck;
    }
    return *this;
  }

  /// Returns the estimate of a plan that runs `times` times in sequence.
  friend Estimate operator*(double times, Estimate estimate) {
    for (Seconds* part :
         {&estimate.total, &estimate.latency, &estimate.bandwidth, &estimate.fill, &estimate.at_bottleneck}) {
      *part = times * *part;
    }
    estimate.nic_bytes = times * estimate.nic_bytes;
    return estimate;
  }
};

/// Interface of cost models. A model keeps no state between plans and can price plans from several threads at once.
class CostModel {
 public:
  virtual ~CostModel() = default;

  /// Prices a plan. Throws ConfigError if the model does not hold for the fabric.
  virtual Estimate cost(const Plan& plan, const Fabric& fabric) const = 0;
};

struct CostModelConfig {
  std::string name = "link-load";
  std::vector<std::string> table;  ///< for table: files of measurements
  Index jobs = 1;                  ///< for fluid: number of jobs that share the GPUs' links
  std::vector<Flow> background;    ///< for fluid: traffic of other jobs, between slots
  /// For table: called, in the thread that requested the estimate, if the estimate is an extrapolation beyond the
  /// measurements. The argument is one line that says so and lists what was measured; the line depends only on the
  /// numbers of nodes and GPUs.
  std::function<void(const std::string&)> on_extended = [](const std::string&) {};
};

struct CostModelEntry {
  std::string_view name, doc;
  std::unique_ptr<CostModel> (*make)(const CostModelConfig&);
  bool needs_file = false;  ///< whether it needs a file: a plugin or measurements
};

const std::vector<CostModelEntry>& cost_models();

/// Makes the configured cost model. Throws ConfigError for an unknown name (with suggestions), missing measurements, a
/// number of jobs out of range, and options that the model does not use.
std::unique_ptr<CostModel> make_cost_model(const CostModelConfig& config);

}  // namespace onebit::netmodel
