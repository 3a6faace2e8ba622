#pragma once
// Several optimizers on one cluster, the fastest first.

#include <span>
#include <string>
#include <vector>

#include "analysis/pricing/job_price.hpp"

namespace onebit::analysis {

/// A value, together with the lowest and highest values that the cluster's uncertainty allows.
struct Ranged {
  double value = 1, low = 1, high = 1;
};

/// An optimizer in a ranking.
struct RankedMethod {
  std::string optimizer;
  std::string codec;                       ///< name of its codec; empty if it has none
  std::vector<std::string> same = {};      ///< other optimizers with the same steps and the same codec
  std::optional<ScheduledRun> schedule{};  ///< length of the run, for optimizers with their own schedule
  bool rare = false;                       ///< whether some steps of its last stage exchange nothing
  bool compresses = false;                 ///< whether a stage exchanges encoded vectors
  Ranged samples_per_second;               ///< mean over a whole run, all stages included
  Ranged speedup;                          ///< speed-up over dense Adam
  ClusterPrice price;
};

struct Ranking {
  std::string workload;
  netmodel::Cluster cluster;
  HybridRules hybrid = {};  ///< rules for embedding tables, for all methods and dense Adam
  bool tables = false;      ///< whether the workload has embedding tables
  Index nodes = 1, width = 1, batch = 1, accumulation = 1;
  Ranged dense;                     ///< samples per second of dense Adam
  netmodel::MemoryEstimate memory;  ///< memory of a GPU with dense Adam
  std::vector<RankedMethod> methods;
  std::vector<std::pair<std::string, std::string>> refused;  ///< optimizers without a price, and the reasons
};

/// Prices plans that differ in their optimizers, and sorts them by samples per second. All methods are compared with
/// dense Adam that has the same boundary of embedding tables. For the ranges, all times on the cluster's links are
/// lengthened or shortened by its uncertainty, in the same way for all methods. Optimizers whose plans fail are listed
/// in Ranking::refused. If all plans fail, throws what plan_job throws.
Ranking rank(std::span<const JobPlan> plans, const netmodel::Cluster& cluster, const netmodel::CostModelConfig& config);

/// Part of a step that takes the most time in a method's last stage.
enum class WaitsFor { computing, codec, update, latency, gpu_links, network };
WaitsFor waits_for(const netmodel::StepEstimate& step);

}  // namespace onebit::analysis
