#include "experiments/bench/scaling.hpp"

#include "device/base/error.hpp"

namespace onebit::experiments {
namespace {

/// A run with some number of workers, and the times of its gradients.
struct Entry {
  std::unique_ptr<sim::VirtualCluster> cluster;
  std::vector<double> seconds;

  void advance() { seconds.push_back(cluster->advance().seconds.total()); }
};

sim::RunConfig with_workers(sim::RunConfig config, Index workers, Index global_batch) {
  if (workers < 1 || global_batch % workers != 0) {
    throw ConfigError(std::to_string(workers) + " workers cannot share " + std::to_string(global_batch) + " examples",
                      "sweep", "give numbers of workers that divide --global-batch");
  }
  config.workers = workers;
  config.batch = global_batch / workers;
  return config;
}

}  // namespace

std::vector<Index> default_sweep(Index global_batch) {
  std::vector<Index> sweep;
  for (Index workers = 1; workers <= 64 && global_batch % workers == 0; workers *= 2) sweep.push_back(workers);
  return sweep;
}

ScalingReport bench_scaling(const sim::RunConfig& config, const std::vector<Index>& sweep, Index global_batch,
                            Index rounds) {
  std::vector<sim::RunConfig> runs;
  for (const Index workers : sweep) runs.push_back(with_workers(config, workers, global_batch));
  std::vector<Entry> entries(runs.size());
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    entries[i].cluster = steady_cluster(runs[i], rounds);
    candidates.push_back({std::to_string(sweep[i]), [&entry = entries[i]] { entry.advance(); }});
  }
  const device::Device device = device::parse_devices(config.device, config.threads).front();
  const std::vector<std::vector<double>> steps = interleaved(device, candidates, rounds);
  ScalingReport report{global_batch, rounds, {}};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::vector<double>& seconds = entries[i].seconds;
    seconds.erase(seconds.begin());  // the warm-up round
    const auto parameters = static_cast<double>(entries[i].cluster->model().parameters());
    report.rows.push_back(
        {sweep[i], median(seconds), median(steps[i]), static_cast<double>(sweep[i]) * parameters * sizeof(float)});
  }
  return report;
}

}  // namespace onebit::experiments
