#include "experiments/bench/pricing.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include "analysis/pricing/job_price.hpp"
#include "compress/channels/exchange_pattern.hpp"

namespace onebit::experiments {
namespace {

using analysis::Job;
using netmodel::Cluster;
using netmodel::Fabric;

constexpr Index kParameters = 336'226'108;

netmodel::Traffic record(netmodel::Collective collective, Index workers, Index payload) {
  netmodel::Traffic traffic;
  traffic.collective = collective;
  traffic.type = netmodel::WireType::bits;
  traffic.group_size = workers;
  traffic.payload_bytes = payload;
  return traffic;
}

/// The traffic of a compressed step of 1-bit Adam.
netmodel::StepTraffic onebit_step(Index workers, Index bytes) {
  using netmodel::Collective;
  return {{record(Collective::all_to_all, workers, bytes), record(Collective::all_gather, workers, 4),
           record(Collective::all_gather, workers, bytes / workers), record(Collective::all_gather, workers, 4)},
          kParameters,
          compress::passes_of(compress::ExchangeConfig{})};
}

netmodel::StepTraffic dense_step(Index workers) {
  netmodel::Traffic traffic = record(netmodel::Collective::all_reduce, workers, 4 * kParameters);
  traffic.type = netmodel::WireType::fp32;
  return {{traffic}, 0};
}

double median_seconds(Index rounds, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (Index round = 0; round <= rounds; ++round) {
    const auto start = Clock::now();
    work();
    if (round > 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[static_cast<std::size_t>(rounds / 2)];
}

/// A compression stage in which every step sends a different volume from the last, as with sparse codecs.
Job varying_job(Index steps) {
  Job job;
  job.name = "varying";
  job.optimizer = "sparse";
  job.workload = netmodel::find_workload("bert-large");
  job.workers = 64;
  job.dense = {"dense", {}};
  job.dense.add(dense_step(64));
  job.stages = {{"compression", {}}};
  for (Index step = 0; step < steps; ++step) job.stages.back().add(onebit_step(64, kParameters / 8 + 64 * step));
  return job;
}

}  // namespace

std::vector<PricingRow> bench_pricing(Index rounds) {
  std::vector<PricingRow> rows;
  Cluster cluster = netmodel::find_cluster("paper-ethernet");
  const netmodel::ComputeTimes compute;
  const auto bench = [&](const std::string& what, const std::string& name, Index ranks,
                         const netmodel::StepTraffic& traffic) {
    const auto model = netmodel::make_cost_model({.name = name, .table = {}, .jobs = 1, .background = {}});
    const auto work = [&] {
      const Fabric fabric(cluster, ranks);
      netmodel::estimate_step(compute, traffic, fabric, *model, {});
    };
    rows.push_back({name + ", " + std::to_string(ranks) + " GPUs, " + what, median_seconds(rounds, work)});
  };
  for (const char* name : {"link-load", "closed-form"}) {
    for (const Index ranks : {64, 4096}) {
      bench("dense", name, ranks, dense_step(ranks));
      bench("1-bit", name, ranks, onebit_step(ranks, kParameters / 8));
    }
  }
  bench("1-bit", "fluid", 64, onebit_step(64, kParameters / 8));
  cluster.pairwise_all_to_all = true;
  bench("1-bit, pairwise all-to-all", "link-load", 4096, onebit_step(4096, kParameters / 8));
  const Job job = varying_job(10'000);
  rows.push_back({"10,000 different steps, priced 20 times", median_seconds(1, [&] {
                    for (int i = 0; i < 20; ++i) price_job(job, netmodel::find_cluster("paper-ethernet"), {});
                  })});
  return rows;
}

}  // namespace onebit::experiments
