#pragma once
// Plans the memory of a run before it starts. The first steps run on devices that only count allocations, so the
// numbers come from the code that allocates, not from a separate formula.

#include "sim/cluster/virtual_cluster.hpp"

namespace onebit::sim {

struct MemoryPlan {
  struct Row {
    std::string name;
    Index bytes = 0;
  };
  /// Bytes by purpose: for CPU devices of one process, the sum over the devices; for GPUs or several processes, those
  /// of the device that needs the most. Runs on CPUs also have rows for copies on the host, for the log, and for
  /// data and program.
  std::vector<Row> rows;
  Index limit = 0;             ///< bytes that the run may take; with several processes, that each process may take
  Index worker_group = 0;      ///< number of workers of a device whose gradients are held at the same time
  bool keeps_examples = true;  ///< value for RunResources::keeps_examples

  Index total() const;
  bool fits() const { return total() <= limit; }
  /// Describes the total, the largest row and the limit.
  std::string text() const;
};

/// A run that fits in memory.
struct PreparedRun {
  RunConfig config;  ///< configuration as given, with the open evaluation options filled in
  RunResources resources;
  MemoryPlan plan;

  /// Makes the cluster, ready for the first step. Throws Error with the plan if less memory is free than when the run
  /// was planned.
  VirtualCluster start() const;
};

/// Returns the error message for a run that finds less memory than was planned. plan: MemoryPlan::text(), or empty.
std::string out_of_memory(const std::string& plan);

/// Returns the bytes that the run may take: config.memory or, if that is 0, nine tenths of the smallest share of any
/// device. A device's share is its free memory, divided by the number of devices on the same GPU and by the number of
/// processes on this machine. On CPUs, the memory that the process already holds is added to the free memory, and the
/// limit is nine tenths of the sum.
Index memory_limit(const RunConfig& config, const RunResources& resources);

/// Plans the run with its worker group. If none is given, uses the group chosen for speed or, if that does not fit, the
/// largest group that does. Throws ConfigError with the numbers if the run does not fit, before anything large is
/// allocated.
MemoryPlan plan_memory(const RunConfig& config, const RunResources& resources);

/// Reads the data, opens the devices and plans the memory. Throws ConfigError, IoError.
PreparedRun prepare(const RunConfig& config);
/// Prepares a run with data from a cache, for studies of several runs.
PreparedRun prepare(const RunConfig& config, DataCache& data);

}  // namespace onebit::sim
