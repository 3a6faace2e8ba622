#pragma once

#include "netmodel/cost/cost_model.hpp"
#include "netmodel/measured/measurements.hpp"

namespace onebit::netmodel {

/// Prices a collective from times measured on the same numbers of nodes and GPUs. If a size was measured more than
/// once, the mean of its times is used. Between measured sizes, log(time) is linear in log(size). Above the largest
/// measured size, time is proportional to size; below the smallest, it is proportional to LinkLoad's estimate. For a
/// collective without measurements, the model finds the all-reduce whose busiest link would be busy for the same time
/// according to LinkLoad, and uses its measured time. So an all-to-all takes longer if the GPUs of a node share a
/// network link, because all of them send through it, whereas in a ring only one of them does. The plan's algorithm
/// matters only for such a collective and below the smallest measured size; otherwise a measurement already includes
/// the algorithm that was used. Throws ConfigError if neither the collective nor all_reduce was measured on these
/// numbers of nodes and GPUs, and for plans of scope local or rail.
class TableModel : public CostModel {
 public:
  using OnExtended = std::function<void(const std::string&)>;

  /// Makes the model from measurements. on_extended: as in CostModelConfig.
  explicit TableModel(
      std::vector<Measurement> rows, OnExtended on_extended = [](const std::string&) {})
      : rows_(std::move(rows)), on_extended_(std::move(on_extended)) {}
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;

 private:
  std::vector<Measurement> rows_;
  OnExtended on_extended_;
};

}  // namespace onebit::netmodel
