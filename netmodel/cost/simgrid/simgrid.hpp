#pragma once

#include "netmodel/cost/cost_model.hpp"

namespace onebit::netmodel {

/// SimGrid's flow-level simulation, a check on LinkLoad. Each rank is an actor that waits only for its own flows. The
/// simulation is slow (milliseconds for 64 GPUs; for 1,024, 5 s for a ring, and two minutes and 2.5 GB of memory for a
/// burst all-to-all). Sizes are rounded to whole bytes. The model needs the plugin libonebit_simgrid.so, which is built
/// if SimGrid is installed. The plugin is searched for next to the program and in ../lib/onebit, or only at the path in
/// the environment variable ONEBIT_SIMGRID if that is set. Throws ConfigError if the plugin is not found.
class SimGrid : public CostModel {
 public:
  Estimate cost(const Plan& plan, const Fabric& fabric) const override;
};

}  // namespace onebit::netmodel
