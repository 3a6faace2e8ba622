#pragma once

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

/// The time of a phase is its latencies, plus the time that its most loaded link needs for the bytes of all flows, plus
/// fill_time() if the phase is a pipeline. The time of a plan is its base plus the sum over its phases. This is exact
/// if flows share links equally and phases do not overlap. Nodes may differ, and ranks may be placed anywhere.
class LinkLoad : public CostModel {
 public:
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;
};

}  // namespace onebit::netmodel
