#include "experiments/bench/bench.hpp"

#include <algorithm>

#include "device/launch/stopwatch.hpp"
#include "sim/run/memory_plan.hpp"

namespace onebit::experiments {

std::vector<std::vector<double>> interleaved(const device::Device& device, const std::vector<Candidate>& candidates,
                                             Index rounds) {
  std::vector<std::vector<double>> seconds(candidates.size());
  for (Index round = -1; round < rounds; ++round) {
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      device::Stopwatch watch(device);
      candidates[c].run();
      const double lap = watch.lap();
      if (round >= 0) seconds[c].push_back(lap);
    }
  }
  return seconds;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::unique_ptr<sim::VirtualCluster> steady_cluster(sim::RunConfig config, Index rounds) {
  constexpr Index warmup = 4;  // in steps; the optimizer leaves its dense stage after the first one
  config = sim::with_short_stages(config, warmup + rounds + 1);
  config.optimizer.lr = 1e-12;  // so that the weights do not blow up with a variance frozen this early
  std::unique_ptr<sim::VirtualCluster> cluster(new sim::VirtualCluster(sim::prepare(config).start()));
  for (Index step = 0; step < warmup; ++step) cluster->advance();
  return cluster;
}

}  // namespace onebit::experiments
