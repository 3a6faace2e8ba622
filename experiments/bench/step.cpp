#include "device/copy.hpp"
#include "device/error.hpp"
#include "device/fill.hpp"
#include "device/gemm.hpp"
#include "device/stopwatch.hpp"
#include "experiments/bench/bench.hpp"
#include "sim/virtual_cluster.hpp"

namespace onebit::experiments {
namespace {

using device::Buffer;
using device::Device;

/// Steps before the measured ones: the optimizer leaves its dense stage after the first.
constexpr Index kWarmup = 4;

/// The run in the stage in which it would spend its time: compressed from the second step on.
sim::RunConfig steady(sim::RunConfig config, Index rounds) {
  config.epochs = 0;
  config.steps = kWarmup + rounds + 1;
  config.optimizer.lr = 1e-12;  // a variance frozen this early must not blow the weights up
  config.optimizer.freeze.policy = "fixed:1";
  if (config.optimizer.semantics == optim::Semantics::deepspeed) config.optimizer.freeze.policy = "fixed:2";
  return config;
}

/// One worker whose batch is that of all workers, with plain Adam, on one device.
sim::RunConfig big_batch(sim::RunConfig config) {
  config.device = device::parse_devices(config.device, config.threads).front().name();
  config.batch *= config.workers;
  config.workers = 1;
  config.worker_group = 0;
  config.optimizer.name = "adam";
  return config;
}

/// A product large enough for the device's best rate, and the copy of two buffers beyond its caches.
class LimitProbe {
 public:
  explicit LimitProbe(const Device& device)
      : device_(device),
        a_(device::random_floats(device, kSize * kSize, 1)),
        b_(device::random_floats(device, kSize * kSize, 2)),
        c_(device, kSize * kSize),
        source_(device::random_floats(device, kCopyElements, 3)),
        target_(device, kCopyElements) {}

  void multiply() {
    gemm(device_, {.m = kSize, .n = kSize, .k = kSize}, {a_.data(), kSize, 0}, {b_.data(), kSize, 0},
         {c_.data(), kSize, 0});
  }
  void copy() { copy_large(device_, target_, source_); }

  static constexpr double kFlops = 2.0 * 1536 * 1536 * 1536;
  static constexpr double kBytes = 2.0 * 256e6;

 private:
  static constexpr Index kSize = 1536;
  static constexpr Index kCopyElements = 64 * 1000 * 1000;
  const Device& device_;
  Buffer<float> a_, b_, c_, source_, target_;
};

/// What a step cannot do without: the model's products; every gradient written once; every worker's encode (20.125
/// bytes an element); the servers' work on one vector and the update.
void add_floor(const sim::VirtualCluster& cluster, const sim::RunConfig& config, StepBench& bench) {
  const auto n = static_cast<double>(config.workers);
  const auto parameters = static_cast<double>(cluster.model().parameters());
  bench.flops = cluster.model().gradient_flops(config.workers * config.batch);
  constexpr double encode = 12 + 8 + 1.0 / 8, server = 8 + 8 + 1.0 / 8 + 4, update = 20, dense_update = 28;
  const bool compresses = cluster.optimizer().state().channel != nullptr;
  const double workers_bytes = 4 + (compresses ? encode : 4);
  const double shared_bytes = compresses ? n / 8 + server + update : 4 + dense_update;
  bench.bytes = parameters * (n * workers_bytes + shared_bytes);
}

void run_warmup(sim::VirtualCluster& cluster) {
  for (Index step = 0; step < kWarmup; ++step) cluster.advance();
}

/// Seconds of the parts of each measured step.
struct Parts {
  std::vector<double> step, sample, forward, backward, encode, exchange, server, update;

  void add(double seconds, const sim::StepOutcome& outcome) {
    step.push_back(seconds);
    sample.push_back(outcome.seconds.sample);
    forward.push_back(outcome.seconds.forward);
    backward.push_back(outcome.seconds.backward);
    encode.push_back(outcome.report.seconds.encode);
    exchange.push_back(outcome.report.seconds.exchange);
    server.push_back(outcome.report.seconds.server);
    update.push_back(outcome.report.seconds.update);
  }

  void put_medians(StepBench& bench) const {
    bench.step = median(step);
    bench.sample = median(sample);
    bench.forward = median(forward);
    bench.backward = median(backward);
    bench.encode = median(encode);
    bench.exchange = median(exchange);
    bench.server = median(server);
    bench.update = median(update);
  }
};

}  // namespace

StepBench bench_step(const sim::RunConfig& config, Index rounds) {
  const sim::RunConfig run = steady(config, rounds);
  sim::VirtualCluster cluster(run), plain(big_batch(run));
  run_warmup(cluster);
  run_warmup(plain);
  // The limits are those of all devices: a logical device has its share of the threads, a GPU is one of several.
  const Device device = device::parse_devices(big_batch(run).device, run.threads).front();
  const double gpus = device.name().starts_with("cuda") ? static_cast<double>(cluster.replicas().size()) : 1.0;
  StepBench bench;
  bench.rounds = rounds;
  Parts parts;
  LimitProbe probe(device);
  const auto step = [&] {
    device::Stopwatch watch(device);
    const sim::StepOutcome outcome = cluster.advance();
    parts.add(watch.lap(), outcome);
  };
  const std::vector<std::vector<double>> seconds = interleaved(device,
                                                               {{"step", step},
                                                                {"big batch", [&] { plain.advance(); }},
                                                                {"product", [&] { probe.multiply(); }},
                                                                {"copy", [&] { probe.copy(); }}},
                                                               rounds);
  parts.put_medians(bench);
  bench.big_batch = median(seconds[1]);
  bench.limits = {gpus * LimitProbe::kBytes / median(seconds[3]), gpus * LimitProbe::kFlops / median(seconds[2])};
  add_floor(cluster, run, bench);
  return bench;
}

}  // namespace onebit::experiments
