#pragma once
// What a run exchanged, step by step, kept small: steps in a row that exchanged the same are one stretch.

#include <string>
#include <vector>

#include "netmodel/cost_model.hpp"
#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Steps first to last, both included, each with these exchanges.
struct Stretch {
  Index first = 0, last = 0;
  netmodel::TrafficList each;

  double steps() const { return static_cast<double>(last - first + 1); }
};

/// In step order; steps without exchanges stand in none. Throws what the reader throws, IoError where steps do not
/// ascend.
std::vector<Stretch> exchanges_of(const sim::LogReader& log);

/// Whether a step's all-reduces carry every parameter as float32.
bool is_dense(const netmodel::TrafficList& step, Index parameters);

/// Seconds of one step of each stretch on the fabric: its exchanges one after the other, nothing overlapped. Throws
/// ConfigError where exchanges are of another number of workers than the fabric.
std::vector<double> seconds_of(const std::vector<Stretch>& stretches, const netmodel::Fabric& fabric,
                               const netmodel::CostModel& model);

/// Estimated seconds since the start of a run, on one cluster: its exchanges, and a number of seconds a step besides.
class ExchangeClock {
 public:
  /// compute_seconds: of a step, for computing; 0: communication alone. Throws ConfigError where the cluster cannot
  /// hold the workers.
  ExchangeClock(const std::vector<Stretch>& stretches, Index workers, const netmodel::Cluster& cluster,
                const netmodel::CostModel& model, double compute_seconds = 0);

  /// After `step` steps.
  double at(Index step) const;

 private:
  struct Leg {
    Index first, last;
    double before, each;  ///< seconds of exchanges before its first step, and of each step
  };
  std::vector<Leg> legs_;
  double compute_seconds_;
};

}  // namespace onebit::analysis
