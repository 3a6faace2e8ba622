#include "experiments/bench/log_probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "device/base/error.hpp"
#include "sim/probe/probe.hpp"

namespace onebit::experiments {
namespace {

std::string temporary_path() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error)
    throw ConfigError("no folder for temporary files: " + error.message(), "TMPDIR", "set it to an existing folder");
  return (folder / ("onebit-bench-" + std::to_string(getpid()) + ".h5")).string();
}

sim::LogHeader header_of(const sim::VirtualCluster& cluster) {
  sim::LogHeader header;
  header.workers = cluster.replicas().front().shard.workers();
  header.tensors = cluster.model().tensors();
  return header;
}

constexpr const char* kNames[] = {"row of /steps", "rows of /traffic", "row of /workers", "row of /tensors", "flush"};

}  // namespace

LogProbe::LogProbe(sim::VirtualCluster& cluster, const std::vector<sim::StepOutcome>& steps)
    : LogProbe(cluster, steps, temporary_path()) {}

LogProbe::LogProbe(sim::VirtualCluster& cluster, const std::vector<sim::StepOutcome>& steps, const std::string& path)
    : cluster_(cluster), steps_(steps), log_(path, header_of(cluster), true) {
  std::filesystem::remove(path);
}

std::vector<Candidate> LogProbe::candidates() {
  const auto steps = [this] { log_.append(sim::measure_step(cluster_, newest())); };
  const auto traffic = [this] { log_.append(newest().step, newest().report.traffic); };
  const auto workers = [this] {
    const sim::WorkerRow row = sim::measure_workers(cluster_, newest());
    sim::StepRow errors;
    sim::measure_errors(cluster_, row, errors);
    log_.append(row);
  };
  const auto tensors = [this] { log_.append(sim::measure_tensors(cluster_, newest().step)); };
  const auto flush = [this] { log_.flush(); };
  return {{kNames[0], steps}, {kNames[1], traffic}, {kNames[2], workers}, {kNames[3], tensors}, {kNames[4], flush}};
}

std::vector<LogPart> LogProbe::parts(const std::vector<std::vector<double>>& seconds, const sim::LogConfig& config,
                                     double step) {
  const double by_time = std::max(1.0, config.flush_seconds / step);
  const double by_steps = config.flush_every > 0 ? static_cast<double>(config.flush_every) : by_time;
  const double every[] = {static_cast<double>(config.every), 1.0, static_cast<double>(config.workers_every),
                          static_cast<double>(config.tensors_every), std::min(by_time, by_steps)};
  std::vector<LogPart> parts;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (every[i] > 0) parts.push_back({kNames[i], every[i], median(seconds[i])});
  }
  return parts;
}

}  // namespace onebit::experiments
