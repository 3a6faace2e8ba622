#pragma once
// The interface between the program and the SimGrid plugin. It uses plain C types, because the plugin is loaded at run
// time.

extern "C" {

/// Flows that begin together and run `repeat` times. A rank continues when its own flows have ended.
struct OnebitSimgridPhase {
  long long repeat;
  long long first_flow, flows;  ///< index of its first flow in OnebitSimgridProblem::flow, and number of its flows
  double latency;               ///< seconds that every rank waits before each run
};

struct OnebitSimgridFlow {
  long long from, to;  ///< ranks, in the order of the nodes
  double bytes;
};

/// A plan on a fabric, in seconds, bytes and bytes per second.
struct OnebitSimgridProblem {
  long long ranks, width;  ///< number of GPUs in total, and per node
  double gpu_rate;
  long long nodes_per_leaf;  ///< number of nodes under a leaf switch; 0: leaf switches limit nothing
  double leaf_rate;          ///< rate of a leaf switch's uplinks
  double gpu_stream_cap;     ///< maximum rate of a flow; 0: no limit
  double nic_stream_cap;     ///< maximum rate of a flow between nodes; 0: no limit
  const double* nic_rates;   ///< [ranks / width]: rate of each node's network link
  long long phases;
  const OnebitSimgridPhase* phase;
  const OnebitSimgridFlow* flow;
};

/// Writes the time until all ranks are done, or a message of at most `size` bytes. Returns 0 on success.
using OnebitSimgridRun = int(const OnebitSimgridProblem* problem, double* seconds, char* message, unsigned long size);
}

inline constexpr const char* kOnebitSimgridSymbol = "onebit_simgrid_run";
