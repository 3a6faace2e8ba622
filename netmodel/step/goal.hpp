#pragma once
// A step as a GOAL schedule, the input of LogGOPSim and other message-level simulators.

#include <iosfwd>
#include <span>

#include "netmodel/plan/plan.hpp"

namespace onebit::netmodel {

/// Writes the schedule. Every rank first computes for the time `before`, then runs the plans phase by phase, and
/// finally computes for the time `after`. The sends and receives of a phase wait for those of the previous phase.
/// Latencies are left to the simulator, which has its own. Ranks are numbered node by node (slots). Times are rounded
/// to whole nanoseconds and sizes to whole bytes, at least 1. Throws ConfigError for more than ten million messages.
void write_goal(std::ostream& out, std::span<const Plan> plans, Seconds before, Seconds after, const Fabric& fabric);

}  // namespace onebit::netmodel
