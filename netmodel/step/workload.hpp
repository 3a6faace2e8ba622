#pragma once
// What a GPU computes in a step, for the models of the papers: measured or estimated times, and parameters.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "netmodel/cluster/cluster.hpp"

namespace onebit::netmodel {

/// Times of one micro-batch on a GPU.
struct BatchTimes {
  std::string gpu;   ///< name in gpus(); empty: whatever the cluster has
  double batch = 1;  ///< samples
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
  std::vector<BatchTimes> batches;  ///< of each GPU by batch; the last GPU named stands for those that are not
  std::vector<UpdateTime> updates;  ///< none: by the bytes that an optimizer touches
};

/// Times of a step: `accumulation` micro-batches, one update.
struct ComputeTimes {
  Seconds forward, backward, optimizer;
  Seconds last_backward;  ///< of the last micro-batch, during which gradients may travel
  std::string basis;      ///< for people: measured on what, or scaled from what
};

std::span<const Workload> workloads();

/// The workload of that name. Throws ConfigError that suggests names if there is none.
const Workload& find_workload(std::string_view name);

/// Computing times of a step. Between two measured batches they are interpolated linearly; beyond the largest they grow
/// in proportion; below the smallest they are the smallest's. A GPU that was not measured takes the times of one that
/// was, scaled by Gpu::speed and Gpu::memory. Throws ConfigError for a batch or an accumulation below 1.
ComputeTimes compute_times(const Workload& workload, const Gpu& gpu, Index batch, Index accumulation);

/// Time that element-wise kernels need for `bytes_each` bytes of each parameter.
Seconds sweep(const Gpu& gpu, Index parameters, double bytes_each);

/// Bytes that Adam touches for each parameter: it reads gradient, moments and weights and writes moments and weights,
/// in float32.
inline constexpr double kAdamBytes = 28;

}  // namespace onebit::netmodel
