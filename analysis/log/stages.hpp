#pragma once
// Steps by stage: what a run or a planned run sends in each.

#include <string>
#include <vector>

#include "analysis/log/exchanges.hpp"
#include "netmodel/step/step_model.hpp"

namespace onebit::analysis {

/// The steps of one stage, counted by kind. For a planned stage whose steps differ (local steps, sparse rounds) these
/// are the steps of one period.
struct StageTraffic {
  struct Run {
    netmodel::StepTraffic traffic;
    Index count = 0;  ///< steps that send this
  };
  std::string name;  ///< dense, warmup, compression, ...: optim::name of its phase
  std::vector<Run> runs;
  bool compressed = false;  ///< the stage exchanges encoded vectors

  void add(netmodel::StepTraffic step, Index count = 1);
  Index steps() const;
  /// Returns at most `most` of its runs, evenly spaced, for quantities that are computed over and over.
  StageTraffic sample(std::size_t most) const;
};

/// Returns the traffic of one step of the range. parameters: of the model, which is what a codec encodes per worker.
netmodel::StepTraffic traffic_of(const StepRange& range, Index parameters);

/// Returns the stages in the order of their first steps.
std::vector<StageTraffic> stages_of(const std::vector<StepRange>& ranges, Index parameters);

}  // namespace onebit::analysis
