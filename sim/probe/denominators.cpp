#include "sim/probe/denominators.hpp"

#include <cmath>

#include "device/launch/launch.hpp"
#include "sim/probe/denominator_kernels.hpp"

namespace onebit::sim {

Denominators denominators_of(const device::Device& device, const optim::Denominator& denominator,
                             const std::vector<compress::Tensor>& tensors) {
  Denominators result;
  if (denominator.variance == nullptr) return result;
  const auto ranges = device::Buffer<Range>::copy_of(device, compress::ranges_of(tensors));
  device::ItemSizes sizes;
  for (const compress::Tensor& tensor : tensors) sizes.add(tensor.size);
  device::Buffer<float> found(device, ranges.size() * PositiveRanksKernel::kResults);
  for_each_large_item(device, sizes, PositiveRanksKernel{denominator.variance->data(), ranges.data(), found.data()});
  const auto correction = static_cast<double>(denominator.correction), eps = static_cast<double>(denominator.eps);
  const auto d = [&](float variance) { return std::sqrt(static_cast<double>(variance)) * correction + eps; };
  const std::vector<float> numbers = found.to_host();
  for (auto of = numbers.begin(); of != numbers.end(); of += PositiveRanksKernel::kResults) {
    result.least.push_back(d(of[0]));
    result.low.push_back(d(of[1]));
    result.median.push_back(d(of[2]));
  }
  return result;
}

}  // namespace onebit::sim
