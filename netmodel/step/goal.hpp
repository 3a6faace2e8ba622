#pragma once
// A step as a GOAL schedule, the input of LogGOPSim and of other simulators of messages.

#include <iosfwd>
#include <span>

#include "netmodel/plan/plan.hpp"

namespace onebit::netmodel {

/// Writes the schedule: every rank computes for `compute`, then runs the plans, phase after phase: sends and receives
/// of a phase wait for those of the phase before, sums count as computations. Ranks are numbered node by node (slots).
/// Times are whole nanoseconds, bytes whole bytes, at least one. Throws ConfigError for more than ten million messages.
void write_goal(std::ostream& out, std::span<const Plan> plans, Seconds compute, const Fabric& fabric);

}  // namespace onebit::netmodel
