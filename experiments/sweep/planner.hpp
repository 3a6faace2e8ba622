#pragma once
// Plans the memory of a point before it starts; planning also checks all of its options.

#include <map>
#include <optional>
#include <string>

#include "experiments/sweep/points.hpp"
#include "sim/run/memory_plan.hpp"

namespace onebit::experiments {

struct PointPlan {
  Index bytes = 0;         ///< memory while it runs
  Index worker_group = 0;  ///< group size that `bytes` assumes
  Index train_size = 0;    ///< examples per epoch
  std::string unfit;       ///< why the point can never run (it does not fit in memory); empty if it can
};

class PointPlanner {
 public:
  /// memory: bytes that all running points may take together; 0: nine tenths of the free memory.
  explicit PointPlanner(Index memory) : memory_(memory) {}

  /// Returns the plan of a point. Points that differ only in their seed share a plan. Throws ConfigError naming the
  /// point.
  const PointPlan& plan(const Point& point);

  /// Returns the bytes that all running points may take together. If no limit was given, this is 0 until the first plan
  /// determines the limit from the free memory.
  Index memory() const { return memory_; }

  /// Releases the data that was read.
  void release_data() { resources_.reset(); }

  /// Returns the hash of the data that the point reads, if a plan has read it.
  std::optional<std::string> data_hash(const Point& point) const;

 private:
  PointPlan make_plan(const sim::RunConfig& config);
  const sim::RunResources& resources_of(const sim::RunConfig& config);

  Index memory_;
  std::map<std::string, PointPlan> plans_;     ///< plans by configuration without the seed
  std::map<std::string, std::string> hashes_;  ///< hashes by the options that decide which data are read
  std::string resources_key_;
  std::optional<sim::RunResources> resources_;  ///< kept for the next point, which usually reads the same data
};

}  // namespace onebit::experiments
