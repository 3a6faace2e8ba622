#pragma once
// The interface between the program and the SimGrid plugin. Plain C types, because the plugin is loaded at run time.

extern "C" {

/// Flows that begin together, `repeat` times. A rank goes on when its own flows are over.
struct OnebitSimgridPhase {
  long long repeat;
  long long first_flow, flows;  ///< in OnebitSimgridProblem::flows
  double pause;                 ///< seconds that every rank waits before each run, in addition to the links' latency
  double sums;                  ///< ... and after it
};

struct OnebitSimgridFlow {
  long long from, to;  ///< ranks, in the order of the nodes
  double bytes;
};

/// Seconds, bytes, bytes per second.
struct OnebitSimgridProblem {
  long long ranks, width;  ///< GPUs in all, and of a node
  double gpu_rate, gpu_latency, nic_latency, core_rate;
  double stream_cap;        ///< of a flow between nodes; 0: none
  const double* nic_rates;  ///< [ranks / width]
  long long phases;
  const OnebitSimgridPhase* phase;
  const OnebitSimgridFlow* flow;
};

/// Writes the time until all ranks are done, or a message of at most `size` bytes. Returns 0 on success.
using OnebitSimgridRun = int(const OnebitSimgridProblem* problem, double* seconds, char* message, unsigned long size);
}

inline constexpr const char* kOnebitSimgridSymbol = "onebit_simgrid_run";
