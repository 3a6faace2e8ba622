#include "experiments/bench/mpi.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <ostream>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/bench/bench.hpp"

namespace onebit::experiments {
namespace {

using netmodel::Collective;

constexpr Index kElements[] = {Index{1} << 10, Index{1} << 14, Index{1} << 18, Index{1} << 22};

/// Returns the seconds that the slowest rank takes, as the median over rounds. The first round is not counted.
double slowest(device::ProcessGroup& processes, Index rounds, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const auto exchange = processes.communicator();
  std::vector<double> seconds;
  for (Index round = 0; round <= rounds; ++round) {
    exchange->all_gather({});  // a barrier, so that all ranks begin together
    const auto start = Clock::now();
    work();
    const double own = std::chrono::duration<double>(Clock::now() - start).count();
    const std::vector<double> all = exchange->all_gather({&own, 1});
    if (round > 0) seconds.push_back(*std::max_element(all.begin(), all.end()));
  }
  return median(seconds);
}

}  // namespace

std::vector<netmodel::Measurement> bench_mpi(device::ProcessGroup& processes, Index rounds) {
  if (processes.size() == 1)
    throw ConfigError("collectives need at least two processes", "bench mpi", "give --ranks 4");
  const Index width = processes.size() / processes.hosts();
  if (processes.any(processes.neighbours() != width)) {
    throw ConfigError("the machines run different numbers of ranks", "bench mpi",
                      "start the same number on each machine");
  }
  std::vector<netmodel::Measurement> rows;
  for (const Index asked : kElements) {
    const Index count = asked / processes.size() * processes.size();  // so that each rank has an equal part
    std::vector<float> own(static_cast<std::size_t>(count)), other(own.size());
    std::vector<float> all(static_cast<std::size_t>(count * processes.size()));
    const std::pair<Collective, std::function<void()>> kinds[] = {
        {Collective::all_reduce, [&] { processes.all_reduce(own); }},
        {Collective::all_to_all, [&] { processes.all_to_all(own, other); }},
        {Collective::all_gather, [&] { processes.all_gather(own, all); }},
    };
    for (const auto& [collective, work] : kinds) {
      rows.push_back({processes.hosts(), width, netmodel::Bytes(static_cast<double>(count * Index{sizeof(float)})),
                      netmodel::Seconds(slowest(processes, rounds, work)), collective});
    }
  }
  return rows;
}

void write_measurements(const std::vector<netmodel::Measurement>& rows, std::ostream& out) {
  out << "nodes,gpus,collective,bytes,seconds\n";
  for (const netmodel::Measurement& row : rows) {
    out << row.nodes << "," << row.gpus_per_node << "," << name(row.collective) << "," << shortest(row.bytes.value)
        << "," << shortest(row.seconds.value) << "\n";
  }
}

}  // namespace onebit::experiments
