#include "netmodel/cost/simgrid/simgrid.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "device/base/error.hpp"
#include "netmodel/cost/link_load.hpp"
#include "netmodel/cost/simgrid/abi.hpp"

namespace onebit::netmodel {
namespace {

constexpr const char* kPlugin = "libonebit_simgrid.so";

std::vector<std::filesystem::path> places() {
  if (const char* given = std::getenv("ONEBIT_SIMGRID")) return {given};
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {folder / kPlugin, folder.parent_path() / "lib" / "onebit" / kPlugin};
}

OnebitSimgridRun* load() {
  for (const std::filesystem::path& place : places()) {
    if (!std::filesystem::exists(place)) continue;
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      throw Error("cannot load the SimGrid plugin", dlerror(), "build onebit again with this machine's SimGrid");
    void* symbol = dlsym(library, kOnebitSimgridSymbol);
    if (symbol == nullptr)
      throw Error("the SimGrid plugin was built for another version of onebit", place.string(),
                  "build or install both together");
    return reinterpret_cast<OnebitSimgridRun*>(symbol);
  }
  throw ConfigError(
      "the SimGrid plugin was not found", places().front().string(),
      "install SimGrid (Debian: libsimgrid-dev) and build onebit again, or set ONEBIT_SIMGRID to the plugin's path");
}

/// Returns the latency of one run of a phase, with the time to fill its pipeline.
double latency_of(const Phase& phase, const Fabric& fabric) {
  Plan once{{}, {phase}};
  once.phases.front().repeat = 1;
  const Estimate estimate = LinkLoad().cost(once, fabric);
  return (estimate.latency + estimate.fill).value;
}

}  // namespace

Estimate SimGrid::cost(const Plan& plan, const Fabric& fabric) const {
  static OnebitSimgridRun* const run = load();
  Estimate estimate = LinkLoad().cost(plan, fabric);  // for its parts, bytes and bottleneck
  std::vector<OnebitSimgridPhase> phases;
  std::vector<OnebitSimgridFlow> flows;
  std::vector<double> rates;
  constexpr Index many = Index{1} << 40;
  for (Index node = 0; node < fabric.nodes(); ++node) rates.push_back(fabric.nic_rate(node, many).value);
  for (const Phase& phase : plan.phases) {
    if (phase.repeat == 0) continue;
    const auto first = static_cast<long long>(flows.size());
    for_each_flow(phase, fabric, [&](Index from, Index to, double bytes) {
      check_flows(static_cast<Index>(flows.size()) + 1, "simgrid");
      flows.push_back({from, to, bytes / phase.link_efficiency});
    });
    phases.push_back({phase.repeat, first, static_cast<long long>(flows.size()) - first, latency_of(phase, fabric)});
  }
  if (flows.empty()) return estimate;
  const Cluster& cluster = fabric.cluster();
  const OnebitSimgridProblem problem{fabric.ranks(),
                                     fabric.width(),
                                     cluster.gpu_link.effective.value,
                                     fabric.leaves() > 0 ? cluster.nodes_per_leaf : 0,
                                     fabric.leaf_rate().value,
                                     cluster.gpu_link.stream_cap.value,
                                     cluster.nic.stream_cap.value,
                                     rates.data(),
                                     static_cast<long long>(phases.size()),
                                     phases.data(),
                                     flows.data()};
  char message[200] = "";
  if (run(&problem, &estimate.total.value, message, sizeof(message)) != 0) {
    throw Error("SimGrid failed: " + std::string(message), "cluster " + cluster.name);
  }
  estimate.total += plan.base;
  estimate.bandwidth = estimate.total - estimate.latency;
  return estimate;
}

}  // namespace onebit::netmodel
