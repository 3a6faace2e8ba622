#pragma once

#include "netmodel/cost/cost_model.hpp"
#include "netmodel/measured/measurements.hpp"

namespace onebit::netmodel {

/// Looks up measured times of the same collective on the same numbers of nodes and GPUs. Between sizes it interpolates
/// linearly in logarithms, above the largest it keeps its rate, below the smallest the time shrinks as LinkLoad says. A
/// collective that was not measured takes as long as the all-reduce that loads its busiest link alike, by LinkLoad and
/// the cluster's choice of algorithms: GPUs that share a network link slow down an all-to-all, which sends from all of
/// them, but not a ring. Apart from that no algorithm is chosen: the measurements had one. Throws ConfigError for
/// numbers of nodes or GPUs that were not measured.
class TableModel : public CostModel {
 public:
  using OnExtended = std::function<void(const std::string&)>;

  /// on_extended: as in CostModelConfig.
  explicit TableModel(
      std::vector<Measurement> rows, OnExtended on_extended = [](const std::string&) {})
      : rows_(std::move(rows)), on_extended_(std::move(on_extended)) {}
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;

 private:
  std::vector<Measurement> rows_;
  OnExtended on_extended_;
};

}  // namespace onebit::netmodel
