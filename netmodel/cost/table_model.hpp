#pragma once

#include "netmodel/cost/cost_model.hpp"
#include "netmodel/measured/measurements.hpp"

namespace onebit::netmodel {

/// Measured times, looked up: of the same collective on as many nodes and GPUs, between sizes by a straight line of
/// logarithms, above the largest at its rate, below the smallest by as much shorter as LinkLoad says. A collective that
/// was not measured takes as long as the all-reduce that loads its busiest link alike, by LinkLoad and the cluster's
/// choice of algorithms: GPUs that share a network link slow an all-to-all down, which sends from all of them, but not
/// a ring. Else no algorithm is chosen: the measurements had one. Throws ConfigError for a number of nodes or GPUs that
/// was not measured.
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
