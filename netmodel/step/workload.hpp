#pragma once
// Compute times of a GPU in a step (measured or estimated) and tensors, for the models of the papers and for language
// models that are trained today.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netmodel/cluster/cluster.hpp"
#include "netmodel/step/tables.hpp"
#include "netmodel/step/tensor_shapes.hpp"

namespace onebit::netmodel {

/// Share of a GPU's peak rate that matrix products of a training step are taken to reach.
inline constexpr double kUtilisation = 0.4;

/// Times of one micro-batch on a GPU.
struct BatchTimes {
  std::string gpu;   ///< name in gpus(); empty: the cluster's GPU
  double batch = 1;  ///< samples per micro-batch
  Seconds forward, backward;
};

/// Time of a dense optimizer's step on a GPU.
struct UpdateTime {
  std::string gpu;
  Seconds seconds;
};

struct Workload {
  std::string name, doc;
  Source source = Source::estimated;
  Index parameters = 0;
  std::vector<BatchTimes> batches;        ///< times by GPU and batch; the last GPU's are scaled to GPUs without times
  std::vector<UpdateTime> updates;        ///< times by GPU, used for its generation; for others, estimated from bytes
  std::vector<TensorShape> tensors = {};  ///< the model's tensors, which add up to `parameters`; empty: not known
  /// Inputs of all layers for one sample in 2 bytes per element, which a step keeps even if it recomputes everything
  /// else; 0: not known.
  Bytes activations = {};
  EmbeddingTables tables = {};  ///< its embedding tables, which are not counted in `parameters`
};

/// Compute times of a step: those of all its micro-batches, and of one update.
struct ComputeTimes {
  Seconds forward, backward, optimizer;
  Seconds last_backward;  ///< backward pass of the last micro-batch, during which gradients may be sent
  std::string basis;      ///< source of the times in words: measured, scaled or given
};

std::span<const Workload> workloads();

/// Returns the workload of that name. Throws ConfigError, with suggestions, if there is none.
const Workload& find_workload(std::string_view name);

/// Returns the compute times of a step of `accumulation` micro-batches. Between two measured batches, times are
/// interpolated linearly; above the largest they grow in proportion to the batch; below the smallest they stay the
/// same. For a GPU that was not measured, the times of the passes on a measured GPU are scaled by Gpu::speed. The
/// update time on a GPU of another generation is estimated from bytes, because a measured time depends more on the
/// software with which it was measured than on the GPU. Throws ConfigError for a batch or an accumulation below 1.
ComputeTimes compute_times(const Workload& workload, const Gpu& gpu, Index batch, Index accumulation);

/// Returns the time that element-wise kernels need to touch `bytes_each` bytes for each parameter.
Seconds sweep(const Gpu& gpu, Index parameters, double bytes_each);

/// Bytes that Adam touches for each parameter: it reads gradient, moments and weights and writes moments and weights,
/// in float32.
inline constexpr double kAdamBytes = 28;

}  // namespace onebit::netmodel
