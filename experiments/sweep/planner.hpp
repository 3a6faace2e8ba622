#pragma once
// What a point will hold in memory, known before it starts; that also checks everything that its options say.

#include <map>
#include <optional>
#include <string>

#include "experiments/sweep/points.hpp"
#include "sim/run/memory_plan.hpp"

namespace onebit::experiments {

struct PointPlan {
  Index bytes = 0;         ///< while it runs
  Index worker_group = 0;  ///< at which it takes them
  Index train_size = 0;    ///< examples of an epoch
  std::string unfit;       ///< why it can never run: it does not fit in memory; empty: it can
};

class PointPlanner {
 public:
  /// memory: bytes that all running points may take together; 0: nine tenths of what the system has.
  explicit PointPlanner(Index memory) : memory_(memory) {}

  /// Points that differ in their seed alone share a plan. Throws ConfigError naming the point.
  const PointPlan& plan(const Point& point);

  /// Bytes that all running points may take together; 0 before the first plan, where the system decides.
  Index memory() const { return memory_; }

  /// Lets go of data that was read.
  void release_data() { resources_.reset(); }

  /// Hash of the data that the point reads, if a plan has read it.
  std::optional<std::string> data_hash(const Point& point) const;

 private:
  PointPlan make_plan(const sim::RunConfig& config);
  const sim::RunResources& resources_of(const sim::RunConfig& config);

  Index memory_;
  std::map<std::string, PointPlan> plans_;     ///< by the configuration without seed
  std::map<std::string, std::string> hashes_;  ///< by the options that say what is read
  std::string resources_key_;
  std::optional<sim::RunResources> resources_;  ///< the last one: neighbours mostly read the same data
};

}  // namespace onebit::experiments
