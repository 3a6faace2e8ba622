#include "sim/layers/recommender/sum_parts.hpp"

#include "device/launch/launch.hpp"
#include "sim/layers/recommender/bag_kernels.hpp"

namespace onebit::sim {

void SumParts::forward(const Pass& pass, const float* input, float* output) {
  for_each_row(pass.device, pass.examples(), outputs(), SumPartsKernel{parts_, outputs(), input, output});
}

void SumParts::backward(const Pass& pass, const float*, const float*, float* output_delta, float* input_delta) {
  if (input_delta == nullptr) return;
  for_each_row(pass.device, pass.examples() * parts_, outputs(),
               SpreadPartsKernel{parts_, outputs(), output_delta, input_delta});
}

}  // namespace onebit::sim
