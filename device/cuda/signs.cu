// Computes the weights of rows, once for all elements of a mean of signs.

#include "device/cuda/launch.cuh"

namespace onebit::device::cuda::detail {
namespace {

struct WeightKernel {
  const float* scales;
  double rows;
  double* weights;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { weights[i] = static_cast<double>(scales[i]) / rows; }
};

}  // namespace

void weigh_rows(const Queue& queue, const ScaledSignRows& rows, double* weights) {
  for_each(queue, rows.signs.rows * rows.scale_count,
           WeightKernel{rows.scales, static_cast<double>(rows.signs.rows), weights});
}

}  // namespace onebit::device::cuda::detail
