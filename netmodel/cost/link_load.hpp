#pragma once

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

/// A phase takes its latencies, then as long as its most loaded link needs for all bytes of its flows, then its sums.
/// A plan takes the sum of its phases. Exact where flows share links equally and phases do not overlap; nodes may
/// differ, ranks may lie anywhere.
class LinkLoad : public CostModel {
 public:
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;
};

}  // namespace onebit::netmodel
