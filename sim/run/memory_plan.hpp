#pragma once
// What a run will hold in memory, known before it starts: its first steps run on devices that only count allocations,
// so the numbers come from the code that allocates, not from a separate formula.

#include "sim/cluster/virtual_cluster.hpp"

namespace onebit::sim {

struct MemoryPlan {
  struct Row {
    std::string name;
    Index bytes = 0;
  };
  /// Bytes by purpose. CPU devices of one process: added up over the devices. GPUs, or one device per process: those of
  /// the device that needs most. Runs on CPUs also have rows for copies on the host, the log, and data and program.
  std::vector<Row> rows;
  Index limit = 0;             ///< bytes that the run may take; with several processes, that each may take
  Index worker_group = 0;      ///< workers of a device whose gradients are held at the same time
  bool keeps_examples = true;  ///< RunResources::keeps_examples

  Index total() const;
  bool fits() const { return total() <= limit; }
  /// Describes the total, the largest row and the limit.
  std::string text() const;
};

/// A run that fits in memory.
struct PreparedRun {
  RunConfig config;  ///< as given, with the evaluations that were left open filled in
  RunResources resources;
  MemoryPlan plan;

  /// Makes the cluster, ready for the first step. Throws Error with the plan if there is less memory than when it was
  /// planned.
  VirtualCluster start() const;
};

/// Text of the error for a run that finds less memory than it planned with.
std::string out_of_memory(const std::string& plan);

/// Bytes that the run may take: config.memory, else nine tenths of the smallest share of one device, where free memory
/// is divided among devices on the same GPU and among processes of this machine. On CPUs, what the process already
/// holds is added before taking nine tenths.
Index memory_limit(const RunConfig& config, const RunResources& resources);

/// Plans the run at its worker group; if none is given, at the largest that fits. Throws ConfigError with the numbers
/// if the run does not fit, before anything large is allocated.
MemoryPlan plan_memory(const RunConfig& config, const RunResources& resources);

/// Reads the data, opens the devices and plans the memory. Throws ConfigError, IoError.
PreparedRun prepare(const RunConfig& config);

}  // namespace onebit::sim
