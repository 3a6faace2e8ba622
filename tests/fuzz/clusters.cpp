#include "experiments/options/cluster_files.hpp"
#include "tests/fuzz/scratch_file.hpp"

using namespace onebit;

/// The INI file of a cluster or, if the first byte says so, of a workload.
ONEBIT_FUZZ(clusters, input) {
  static fuzz::ScratchFile file(".ini");
  const bool cluster = input.byte() % 2 == 0;
  file.assign(input.rest());
  if (!cluster) {
    const netmodel::Workload workload = experiments::load_workload(file.path());
    const netmodel::ComputeTimes times = netmodel::compute_times(workload, netmodel::find_gpu("a100"), 16, 2);
    fuzz::require(times.forward.value >= 0 && times.backward.value >= 0 && times.optimizer.value >= 0);
    return;
  }
  const netmodel::Cluster read = experiments::load_cluster(file.path(), {});
  netmodel::check(read);
  const Index nodes = read.nodes > 0 ? read.nodes : 4, workers = nodes * read.gpus_per_node;
  if (workers <= 64) {
    const netmodel::Fabric fabric(read, workers);
    fuzz::require(fabric.ranks() == workers);
  }
}
