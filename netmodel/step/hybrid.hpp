#pragma once
// A step of hybrid-parallel training: embedding tables are split over the GPUs, dense layers are data-parallel.
//
// Every GPU trains on `batch` samples. It sends their indices to the GPUs that hold the rows. These GPUs pool their
// part of the tables for the samples of all GPUs, and send the sums back. The gradients of the sums travel the same
// route in reverse, and those of the dense layers are averaged as in step_model.hpp. Besides the dense gradients, two
// exchanges overlap with computing: the pooled embeddings travel during the forward pass of the bottom layers, and
// their gradients during the backward pass of these layers.

#include "netmodel/step/step_model.hpp"
#include "netmodel/step/streams.hpp"
#include "netmodel/step/tables.hpp"

namespace onebit::netmodel {

/// How pooled embeddings and their gradients travel. Byte counts are per number.
struct Boundary {
  double forward = sizeof(float), backward = sizeof(float);  ///< bytes on the wire
  /// Bytes of memory that the codec's kernels touch in the forward and in the backward direction.
  double encode = 0, decode = 0, encode_back = 0, decode_back = 0;
  /// Whether each GPU selects which elements of a sample's sums it sends, so that the selections may differ. Each GPU
  /// then gets only the gradients of the elements that it sent.
  bool masked = false;

  bool compresses() const { return encode > 0; }
};

struct HybridWork {
  EmbeddingTables tables;
  TableSplit split = TableSplit::table_wise;
  Index batch = 1;  ///< samples of a GPU
  Boundary boundary = {};
};

struct HybridEstimate {
  StepEstimate step;          ///< includes the tables: pooling counts as forward, sparse updates as updates
  std::vector<Stage> stages;  ///< without the cost of overlap (StepOptions::stretch), which makes the step longer
  Seconds model_parallel, data_parallel;  ///< time during which the GPU waits for these exchanges
  Bytes pooled;  ///< embeddings that all GPUs together send forward, except those that a GPU needs for its own samples
  Bytes most_pooled;     ///< part of them that the busiest GPU sends
  double imbalance = 1;  ///< largest share of the tables relative to the mean
};

/// Throws ConfigError if the tables cannot be split over the GPUs (shares_of), or if the step is sharded.
void check(const HybridWork& work, Index gpus, const StepOptions& options);

/// Prices a step of one micro-batch. `compute` holds the times of the dense layers, and `traffic` their exchanges.
/// Dense gradients are averaged all at once after the backward pass or, if that is faster and they may overlap, first
/// those of the top layers and then those of the bottom layers (DLRM wraps each of the two in its own DDP). Throws what
/// check throws.
HybridEstimate estimate_hybrid(const HybridWork& work, const ComputeTimes& compute, const StepTraffic& traffic,
                               const Fabric& fabric, const CostModel& model, const StepOptions& options);

}  // namespace onebit::netmodel
