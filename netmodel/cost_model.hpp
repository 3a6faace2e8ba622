#pragma once
// The plug: how long an exchange takes on a cluster.

#include "netmodel/cluster.hpp"
#include "netmodel/traffic.hpp"
#include "netmodel/units.hpp"

namespace onebit::netmodel {

/// Time of an exchange and its parts. Computation (codec, reduction) is not part of it.
struct Estimate {
  Seconds total;      ///< latency + bandwidth
  Seconds latency;    ///< spent on steps, whatever their size
  Seconds bandwidth;  ///< spent on bytes

  Estimate& operator+=(const Estimate& other) {
    total += other.total;
    latency += other.latency;
    bandwidth += other.bandwidth;
    return *this;
  }
};

/// Stateless and const: one model prices any number of exchanges from any number of threads.
class CostModel {
 public:
  virtual ~CostModel() = default;

  /// ConfigError where the record or the cluster makes no sense (no workers, negative bytes, a link without speed).
  virtual Estimate cost(const Traffic& traffic, const Cluster& cluster) const = 0;
};

/// One exchange after the other, none overlapping another: the sum.
inline Estimate total_cost(const CostModel& model, const TrafficList& list, const Cluster& cluster) {
  Estimate sum;
  for (const Traffic& traffic : list) sum += model.cost(traffic, cluster);
  return sum;
}

}  // namespace onebit::netmodel
