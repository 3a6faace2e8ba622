#pragma once
// Memory that a training step needs on a GPU.

#include "netmodel/step/step_model.hpp"

namespace onebit::netmodel {

/// The least memory that mixed-precision training with Adam needs: 2 bytes per element each for weights and gradients,
/// 12 for master weights and moments together (Rajbhandari et al. 2020, section 3.1), error feedback, and the inputs of
/// all layers (Workload::activations). Buffers, fragmentation and what a layer needs internally are not included.
struct MemoryEstimate {
  Bytes weights;  ///< with ZeRO++ on several nodes, those of the node's copy too
  Bytes gradients, optimizer;
  Bytes errors;       ///< errors of a worker and of its server's chunk, in float32; 0 if nothing is compressed
  Bytes activations;  ///< 0: not known
  Bytes tables{};     ///< the GPU's part of the embedding tables in float32, set by the caller; 0: none, or not known
  Bytes capacity;     ///< memory of the cluster's GPU

  Bytes total() const { return weights + gradients + optimizer + errors + activations + tables; }
  bool fits() const { return total() <= capacity; }
};

/// Returns the memory that a training step needs on a GPU. `compresses`: whether the optimizer exchanges encoded
/// vectors; if so, nothing is sharded.
MemoryEstimate memory_of(const Workload& workload, Index batch, bool compresses, const Fabric& fabric,
                         Sharding sharding);

}  // namespace onebit::netmodel
