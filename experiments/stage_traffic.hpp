#pragma once
// What an optimizer would send, without a run: it takes its first steps on a device that only counts.

#include "netmodel/step_model.hpp"
#include "optim/config.hpp"

namespace onebit::experiments {

/// Steps of one stage by kind; where they differ (local steps, sparse rounds) and are planned, a period of them.
struct StageTraffic {
  struct Run {
    netmodel::StepTraffic traffic;
    Index count = 0;  ///< steps that send this
  };
  std::string name;  ///< dense, warmup, compression, ...
  std::vector<Run> runs;

  void add(netmodel::StepTraffic step);
  Index steps() const;
  /// At most so many of its runs, evenly spaced: for what is asked of a stage again and again.
  StageTraffic sample(std::size_t most) const;
};

/// Whether all that a step exchanges are all-reduces of float32.
bool is_dense(const netmodel::TrafficList& exchanges);

/// In the order of the stages, of a model that is one vector. A freeze comes early, whatever the policy; a policy that
/// never freezes leaves the compression stage out. Throws what the optimizer throws, and ConfigError for what cannot be
/// known without data (CADA, codecs with thresholds, PowerSGD's matrices).
std::vector<StageTraffic> plan_stages(optim::OptimizerConfig config, Index workers, Index parameters);

}  // namespace onebit::experiments
