#pragma once
// Steps by stage: what a run, or a plan of one, sends in each.

#include <string>
#include <vector>

#include "analysis/log/exchanges.hpp"
#include "netmodel/step/step_model.hpp"

namespace onebit::analysis {

/// Steps of one stage by kind; where they differ (local steps, sparse rounds) and are planned, a period of them.
struct StageTraffic {
  struct Run {
    netmodel::StepTraffic traffic;
    Index count = 0;  ///< steps that send this
  };
  std::string name;  ///< dense, warmup, compression, ...: optim::name of its phase
  std::vector<Run> runs;
  bool compressed = false;  ///< its exchanges come from a codec

  void add(netmodel::StepTraffic step, Index count = 1);
  Index steps() const;
  /// At most so many of its runs, evenly spaced: for what is asked of a stage again and again.
  StageTraffic sample(std::size_t most) const;
};

/// A step of the range; parameters: of the model, which are what a codec takes of a worker.
netmodel::StepTraffic traffic_of(const StepRange& range, Index parameters);

/// In the order of their first steps.
std::vector<StageTraffic> stages_of(const std::vector<StepRange>& ranges, Index parameters);

}  // namespace onebit::analysis
