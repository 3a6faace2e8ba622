#pragma once
// What a run will hold in memory, known before it starts: its first steps are taken on devices that only count, so what
// allocates is asked, and no formula is kept besides.

#include "sim/cluster/virtual_cluster.hpp"

namespace onebit::sim {

struct MemoryPlan {
  struct Row {
    std::string name;
    Index bytes = 0;
  };
  std::vector<Row> rows;       ///< of all devices and the program; of GPUs or processes, of the one that holds most
  Index limit = 0;             ///< what the run may take; a process of several, what it may
  Index worker_group = 0;      ///< workers of a device whose gradients exist at a time
  bool keeps_examples = true;  ///< RunResources::keeps_examples

  Index total() const;
  bool fits() const { return total() <= limit; }
  /// The total, the largest row and the limit, in words.
  std::string text() const;
};

/// A run that fits.
struct PreparedRun {
  RunConfig config;  ///< as it was asked for, with the evaluations that it left open
  RunResources resources;
  MemoryPlan plan;

  /// Ready for the first step. Throws Error with the plan where there is less memory than there was.
  VirtualCluster start() const;
};

/// The error of a run for which there is less memory than it planned with.
std::string out_of_memory(const std::string& plan);

/// Bytes that the run may take: what it was given, else nine tenths of what its devices have free.
Index memory_limit(const RunConfig& config, const RunResources& resources);

/// Plans the run at its worker group; where none is asked for, at the largest that fits. Throws ConfigError with the
/// numbers where it does not fit, before anything large is allocated.
MemoryPlan plan_memory(const RunConfig& config, const RunResources& resources);

/// Reads the data, opens the devices and plans the memory. Throws ConfigError, IoError.
PreparedRun prepare(const RunConfig& config);

}  // namespace onebit::sim
