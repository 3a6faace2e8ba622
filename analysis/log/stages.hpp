#pragma once
// Steps grouped by stage, with the traffic of a run or of a planned run.

#include <string>
#include <vector>

#include "analysis/log/exchanges.hpp"
#include "netmodel/step/step_model.hpp"

namespace onebit::analysis {

/// The steps of one stage, counted by kind. plan_stages() describes which steps of a planned run these are.
struct StageTraffic {
  struct StepKind {
    netmodel::StepTraffic traffic;
    Index count = 0;  ///< number of steps with this traffic
  };
  std::string name;  ///< optim::name of its phase: dense, warmup, compression, ...
  std::vector<StepKind> kinds;
  bool compressed = false;  ///< whether the stage exchanges encoded vectors

  void add(netmodel::StepTraffic step, Index count = 1);
  Index steps() const;
  /// Returns a copy of the stage with at most `most` of its kinds of step, picked at even intervals. Use such a copy
  /// for quantities that are computed many times.
  StageTraffic sample(std::size_t most) const;
};

/// Work of a run's codec for each worker in a compressed step: the size of its input, and the cost.
struct Encoding {
  Index parameters = 0;  ///< the model's number of parameters, all of which are encoded
  netmodel::CodecPasses passes{};
};

/// Returns the traffic of one step of the range.
netmodel::StepTraffic traffic_of(const StepRange& range, const Encoding& encoding);

/// Returns the stages in the order of their first steps.
std::vector<StageTraffic> stages_of(const std::vector<StepRange>& ranges, const Encoding& encoding);

}  // namespace onebit::analysis
