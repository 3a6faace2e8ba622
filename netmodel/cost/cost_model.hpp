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

/// The link that a phase waits for.
struct Link {
  enum class Kind : std::uint8_t { none, gpu_out, gpu_in, nic_out, nic_in, core };
  Kind kind = Kind::none;
  Index number = 0;  ///< slot or node
};

/// The name of a link, such as "network link of node 3 (out)".
std::string text(const Link& link);

/// Time of a plan and its parts. Codecs are not part of it.
struct Estimate {
  Seconds total;      ///< the sum of the three below
  Seconds latency;    ///< spent on steps and messages, whatever their size
  Seconds bandwidth;  ///< spent on bytes
  Seconds reduction;  ///< spent on sums
  Bytes nic_bytes;    ///< through the busiest node's network link, in the direction that carries more
  Link bottleneck;    ///< of the phase that spends most on bytes
  Seconds at_bottleneck;

  Estimate& operator+=(const Estimate& other) {
    total += other.total;
    latency += other.latency;
    bandwidth += other.bandwidth;
    reduction += other.reduction;
    nic_bytes += other.nic_bytes;
    if (other.at_bottleneck > at_bottleneck) {
      bottleneck = other.bottleneck;
      at_bottleneck = other.at_bottleneck;
    }
    return *this;
  }

  /// The estimate of `times` such plans in sequence.
  friend Estimate operator*(double times, Estimate estimate) {
    for (Seconds* part :
         {&estimate.total, &estimate.latency, &estimate.bandwidth, &estimate.reduction, &estimate.at_bottleneck}) {
      *part = times * *part;
    }
    estimate.nic_bytes = times * estimate.nic_bytes;
    return estimate;
  }
};

/// Stateless and const: one model prices any number of plans from any number of threads.
class CostModel {
 public:
  virtual ~CostModel() = default;

  /// Prices a plan. Throws ConfigError if the model does not hold for the fabric.
  virtual Estimate cost(const Plan& plan, const Fabric& fabric) const = 0;
};

struct CostModelConfig {
  std::string name = "link-load";
  std::string table;             ///< table: file of measurements
  Index jobs = 1;                ///< fluid: jobs that share the GPUs' links
  std::vector<Flow> background;  ///< fluid: other people's traffic, between slots
  /// table: called with one line, in the thread that asks for the estimate, if an estimate goes beyond what was
  /// measured. The line says what was measured; it is the same every time for the same numbers of nodes and GPUs.
  std::function<void(const std::string&)> on_extended = [](const std::string&) {};
};

struct CostModelEntry {
  std::string_view name, doc;
  std::unique_ptr<CostModel> (*make)(const CostModelConfig&);
  bool needs_file = false;  ///< a plugin, measurements
};

const std::vector<CostModelEntry>& cost_models();

/// Makes the cost model of that name. Throws ConfigError that suggests names if there is none, and for missing
/// measurements, jobs out of range, and options that the model does not use.
std::unique_ptr<CostModel> make_cost_model(const CostModelConfig& config);

}  // namespace onebit::netmodel
