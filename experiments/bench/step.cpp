#include <algorithm>
#include <cmath>

#include "device/math/fill.hpp"
#include "device/math/gemm.hpp"
#include "device/memory/copy.hpp"
#include "experiments/bench/log_probe.hpp"

namespace onebit::experiments {
namespace {

using device::Buffer;
using device::Device;

/// Returns a run of plain Adam with one worker on one device, whose batch has the examples of all workers.
sim::RunConfig big_batch(sim::RunConfig config) {
  config.device = device::parse_devices(config.device, config.threads).front().name();
  config.batch *= config.workers;
  config.workers = 1;
  config.worker_group = 0;
  config.optimizer.name = "adam";
  return config;
}

/// Runs a matrix product large enough for the device's best rate, and a copy between two buffers larger than its
/// caches, unless `elements` limits the operands.
class LimitProbe {
 public:
  LimitProbe(const Device& device, Index elements)
      : device_(device),
        size_(elements > 0 ? std::min(best_size(device), side_of(elements)) : best_size(device)),
        a_(device::random_floats(device, size_ * size_, 1)),
        b_(device::random_floats(device, size_ * size_, 2)),
        c_(device, size_ * size_),
        source_(device::random_floats(device, elements > 0 ? elements : kCopyElements, 3)),
        target_(device, source_.size()) {}

  void multiply() {
    for (Index i = 0; i < kProducts; ++i) {
      gemm(device_, {.m = size_, .n = size_, .k = size_}, {a_.data(), size_, 0}, {b_.data(), size_, 0},
           {c_.data(), size_, 0});
    }
  }
  void copy() { copy_large(device_, target_, source_); }

  double flops() const { return 2.0 * static_cast<double>(kProducts * size_ * size_ * size_); }

  double bytes() const { return 2.0 * sizeof(float) * static_cast<double>(source_.size()); }

 private:
  static constexpr Index kProducts = 4;  ///< products per measurement; the first reads operands outside the caches
  static constexpr Index kCopyElements = 64 * 1000 * 1000;

  /// Returns the side of the matrices: small enough for a CPU's caches, large on a GPU.
  static Index best_size(const Device& device) { return device.is_gpu() ? 4096 : 512; }
  static Index side_of(Index elements) { return static_cast<Index>(std::sqrt(static_cast<double>(elements))); }

  const Device& device_;
  Index size_;  ///< rows and columns of the products' matrices
  Buffer<float> a_, b_, c_, source_, target_;
};

/// Adds the floor of a step, the least work that it needs: the model's products; every gradient written once; the
/// encode of every worker (20.125 bytes per element); the servers' work on one vector; the update, which can decode
/// their answer on the fly; and the touched rows of tables.
void add_floor(const sim::VirtualCluster& cluster, const sim::RunConfig& config, StepBench& bench) {
  const auto n = static_cast<double>(config.workers);
  const auto parameters = static_cast<double>(cluster.model().parameters());
  bench.flops = cluster.model().gradient_flops(config.workers * config.batch);
  constexpr double encode = 12 + 8 + 1.0 / 8, server = 8 + 8 + 1.0 / 8, update = 1.0 / 8 + 16, dense_update = 28;
  const bool compresses = cluster.optimizer().state().exchanged;
  const double workers_bytes = 4 + (compresses ? encode : 4);
  const double shared_bytes = compresses ? n / 8 + server + update : 4 + dense_update;
  bench.touched = cluster.model().touched_rows();
  bench.bytes = parameters * (n * workers_bytes + shared_bytes) + bench.touched.bytes();
}

/// The parts of a step, in order.
struct Part {
  const char* name;
  double (*seconds)(const sim::StepOutcome&);
};
constexpr Part kParts[] = {
    {"sample", [](const sim::StepOutcome& o) -> double { return o.seconds.sample; }},
    {"forward", [](const sim::StepOutcome& o) -> double { return o.seconds.forward; }},
    {"backward", [](const sim::StepOutcome& o) -> double { return o.seconds.backward; }},
    {"encode", [](const sim::StepOutcome& o) -> double { return o.report.seconds.encode; }},
    {"exchange", [](const sim::StepOutcome& o) -> double { return o.report.seconds.exchange; }},
    {"server", [](const sim::StepOutcome& o) -> double { return o.report.seconds.server; }},
    {"update", [](const sim::StepOutcome& o) -> double { return o.report.seconds.update; }},
};

constexpr Part kTables = {"tables", [](const sim::StepOutcome& o) -> double { return o.seconds.owned; }};

double median_of(const Part& part, const std::vector<sim::StepOutcome>& outcomes) {
  std::vector<double> seconds;
  for (const sim::StepOutcome& outcome : outcomes) seconds.push_back(part.seconds(outcome));
  return median(seconds);
}

}  // namespace

StepBench bench_step(const sim::RunConfig& config, Index elements, Index rounds) {
  const auto cluster = steady_cluster(config, rounds), plain = steady_cluster(big_batch(config), rounds);
  // The limits apply to all devices together. The probe runs on a CPU with all threads, or on one of the GPUs.
  const Device device = device::parse_devices(big_batch(config).device, config.threads).front();
  const double gpus = device.is_gpu() ? static_cast<double>(cluster->replicas().size()) : 1.0;
  StepBench bench;
  bench.rounds = rounds;
  const Device products = device.with_precision(config.model.precision);
  LimitProbe probe(products, elements);
  std::vector<sim::StepOutcome> outcomes;
  LogProbe log(*cluster, outcomes);
  std::vector<Candidate> candidates = {{"big batch", [&] { plain->advance(); }},
                                       {"product", [&] { probe.multiply(); }},
                                       {"copy", [&] { probe.copy(); }},
                                       {"step", [&] { outcomes.push_back(cluster->advance()); }}};
  for (Candidate& part : log.candidates()) candidates.push_back(std::move(part));
  const std::vector<std::vector<double>> seconds = interleaved(device, candidates, rounds);
  outcomes.erase(outcomes.begin());  // the warm-up round
  for (const Part& part : kParts) bench.parts.emplace_back(part.name, median_of(part, outcomes));
  if (sim::model_entry(config.model.name).input == sim::Input::bags) {
    bench.tables = median_of(kTables, outcomes);
    bench.parts.emplace_back(kTables.name, bench.tables);
  }
  bench.big_batch = median(seconds[0]);
  bench.limits = {gpus * probe.bytes() / median(seconds[2]), gpus * probe.flops() / median(seconds[1])};
  bench.step = median(seconds[3]);
  bench.log = LogProbe::parts({seconds.begin() + 4, seconds.end()}, config.log, bench.step);
  add_floor(*cluster, config, bench);
  return bench;
}

}  // namespace onebit::experiments
