#include "netmodel/step/memory.hpp"

namespace onebit::netmodel {

MemoryEstimate memory_of(const Workload& workload, Index batch, bool compresses, const Fabric& fabric,
                         Sharding sharding) {
  const auto parameters = static_cast<double>(workload.parameters), ranks = static_cast<double>(fabric.ranks());
  const auto held = [&](double bytes, Sharding from) {
    const bool sharded = !compresses && sharding >= from;
    return Bytes(bytes * parameters / (sharded ? ranks : 1));
  };
  MemoryEstimate memory;
  memory.weights = held(2, Sharding::zero3);
  if (!compresses && sharding == Sharding::zeropp && fabric.nodes() > 1) {
    memory.weights += Bytes(2 * parameters / static_cast<double>(fabric.width()));
  }
  memory.gradients = held(2, Sharding::zero2);
  memory.optimizer = held(12, Sharding::zero1);
  if (compresses) memory.errors = Bytes(sizeof(float) * parameters * (1 + 1 / ranks));
  memory.activations = static_cast<double>(batch) * workload.activations;
  const Bytes own = fabric.cluster().gpu_memory;
  memory.capacity = own.value > 0 ? own : fabric.gpu().capacity;
  return memory;
}

}  // namespace onebit::netmodel
