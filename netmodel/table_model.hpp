#pragma once

#include "netmodel/cost_model.hpp"
#include "netmodel/measurements.hpp"

namespace onebit::netmodel {

/// Measured times, looked up: of the same collective on as many nodes and GPUs, between sizes by a straight line of
/// logarithms, below the smallest its time, above the largest its bus bandwidth. A collective that was not measured has
/// the bus bandwidth of the all-reduces, as nccl-tests define it (bytes on the wire of a GPU / seconds). No algorithm
/// is chosen: the measurements had one. Throws ConfigError for a number of nodes or GPUs that was not measured.
class TableModel : public CostModel {
 public:
  explicit TableModel(std::vector<Measurement> rows) : rows_(std::move(rows)) {}
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;

 private:
  std::vector<Measurement> rows_;
};

}  // namespace onebit::netmodel
