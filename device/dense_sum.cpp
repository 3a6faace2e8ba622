#include "device/dense_sum.hpp"

#include "device/cpu/dense_sum.hpp"
#include "device/cpu/launch.hpp"

namespace onebit::device {

namespace {

struct MeanKernel {
  const double* total;
  double workers;
  float* mean;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { mean[i] = static_cast<float>(total[i] / workers); }
};

}  // namespace

DenseSum::DenseSum(const Device& device, Index workers, Index columns)
    : device_(device), workers_(workers), columns_(columns), total_(device, columns) {}

void DenseSum::absorb(Index first, Index count, const float* rows, Index stride) {
  if (count < workers_ && levels_.size() == 0) {
    levels_ = Buffer<double>(device_, cpu::dense_sum_levels(workers_) * columns_);
  }
  double* levels = count < workers_ ? levels_.data() : nullptr;
  device_.run([&](const auto& queue) {
    dense_sum_absorb(queue, {workers_, columns_, levels, total_.data()}, first, count, rows, stride);
  });
}

void DenseSum::take_mean(float* mean) {
  const MeanKernel kernel{total_.data(), static_cast<double>(workers_), mean};
  device_.run([&](const auto& queue) { for_each(queue, columns_, kernel); });
}

}  // namespace onebit::device
