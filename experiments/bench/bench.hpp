#pragma once
// Measurements of `onebit bench`. Times are medians over rounds. In each round, everything that is compared runs once,
// so that a slow moment of the machine affects all candidates equally.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "sim/cluster/virtual_cluster.hpp"

namespace onebit::experiments {

/// Something to time: `run` executes it once on a device.
struct Candidate {
  std::string name;
  std::function<void()> run;
};

/// Returns the seconds of each candidate in each round, after one warm-up round: [candidate][round].
std::vector<std::vector<double>> interleaved(const device::Device& device, const std::vector<Candidate>& candidates,
                                             Index rounds);

double median(std::vector<double> values);

/// Returns a run that has reached the stage in which such a run normally spends most of its time (1-bit Adam: the
/// compression stage). It has enough steps left for `rounds` measured rounds and one warm-up round.
std::unique_ptr<sim::VirtualCluster> steady_cluster(sim::RunConfig config, Index rounds);

/// Measured limits of a device: the rate of copying (bytes read plus bytes written) and the rate of matrix products in
/// the model's precision.
struct Limits {
  double copy_bytes_per_second = 0;
  double flops_per_second = 0;
};

/// The measurement of a kernel, which is compared with a copy timed in the same rounds.
struct KernelRow {
  std::string kernel;
  Index elements = 0;
  double floor_bytes = 0;  ///< bytes per element if each operand is read once and each result is written once
  double seconds = 0;      ///< median time
  double bytes_per_second() const { return static_cast<double>(elements) * floor_bytes / seconds; }
};

struct KernelReport {
  double copy_bytes_per_second = 0;
  Index copy_bytes = 0;  ///< size of each of the two buffers
  Index cache_bytes = 0;
  Index rounds = 0;
  std::vector<KernelRow> rows;
};

/// Smallest size, in bytes, of a copy that is used to measure the memory bandwidth.
inline constexpr Index kCopyBytes = 256 * 1000 * 1000;

/// Measures the kernels. elements: size of the largest operand; 0: four times the last-level cache, but at least
/// kCopyBytes. copy_bytes: smallest size of the buffers that are copied; it must exceed the caches for a realistic
/// rate.
KernelReport bench_kernels(const device::Device& device, const sim::RunConfig& config, Index elements, Index rounds,
                           Index copy_bytes = kCopyBytes);

/// A part of logging that happens once per `every` steps.
struct LogPart {
  std::string name;
  double every = 1;    ///< number of steps from one occurrence to the next
  double seconds = 0;  ///< median time
  double of_a_step() const { return seconds / every; }
};

/// Times of one step of all workers in the run's longest stage, by part. For comparison, the struct also contains the
/// step's floor and the time of one step of plain Adam on one batch of the same total size.
struct StepBench {
  double step = 0;
  std::vector<std::pair<std::string, double>> parts;  ///< name and median seconds, in the order of a step
  std::vector<LogPart> log;                           ///< logging in addition to the step, at the configured cadences
  double big_batch = 0;
  double flops = 0;          ///< floating-point operations of one step
  double bytes = 0;          ///< bytes that a step must move, tables included
  sim::TouchedRows touched;  ///< rows of tables in the last step; none if the model has no tables
  double tables = 0;         ///< seconds of the part that updates the tables
  Limits limits;
  Index rounds = 0;
  /// Returns the mean seconds of logging per step.
  double log_seconds() const {
    double sum = 0;
    for (const LogPart& part : log) sum += part.of_a_step();
    return sum;
  }
  /// Rate at which the update of the tables moves bytes, divided by the measured copy rate.
  double tables_share() const { return touched.update_bytes() / limits.copy_bytes_per_second / tables; }
  double floor() const { return flops / limits.flops_per_second + bytes / limits.copy_bytes_per_second; }
};

/// Measures a step. elements: largest number of elements of an operand in the measurement of the device's limits; 0:
/// operands of sizes at which the device reaches these limits.
StepBench bench_step(const sim::RunConfig& config, Index elements, Index rounds);

}  // namespace onebit::experiments
