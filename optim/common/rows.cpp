#include "optim/common/rows.hpp"

#include <cmath>
#include <numeric>

namespace onebit::optim {

double root_mean_square(const device::Shard& shard, std::span<const double> own_squares) {
  const std::vector<double> squares = shard.communicator->all_gather(own_squares);
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(squares.size()));
}

device::Buffer<float> parameter_decay(const Problem& problem, const OptimizerConfig& config) {
  compress::require_matches(problem.tensors, config.no_decay, "optimizer.no-decay");
  const std::vector<char> without = compress::matching(problem.tensors, config.no_decay);
  return device::Buffer<float>::made(problem.shard.device, problem.parameters(), [&] {
    std::vector<float> decay;
    for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
      const float value = without[t] != 0 ? 0.0f : static_cast<float>(config.weight_decay);
      decay.insert(decay.end(), static_cast<std::size_t>(problem.tensors[t].size), value);
    }
    return decay;
  });
}

}  // namespace onebit::optim
