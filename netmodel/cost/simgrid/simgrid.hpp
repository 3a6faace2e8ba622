#pragma once

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

/// SimGrid's flow-level simulation, in which each rank is an actor that waits for its own flows only: a check on
/// LinkLoad. Slow (milliseconds for 64 GPUs, seconds for 1,024). Bytes are rounded to whole ones. It needs the plugin
/// libonebit_simgrid.so, which is built where SimGrid is installed and lies next to the program, in ../lib/onebit, or
/// where the environment variable ONEBIT_SIMGRID says. Throws Error where it is not found.
class SimGrid : public CostModel {
 public:
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;
};

}  // namespace onebit::netmodel
