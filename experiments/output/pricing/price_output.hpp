#pragma once
// Output of `price`: tables, JSON and the picture of a sweep.

#include <string>
#include <vector>

#include "analysis/pricing/price_sweep.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Describes a cluster and the GPUs of a job on it, in two lines.
std::string cluster_text(const netmodel::Cluster& cluster, Index nodes, Index width);

/// Names the network links of a node on which a job uses `width` GPUs, e.g. "each of a node's 4 network links".
std::string links_text(const netmodel::Cluster& cluster, Index width);

/// Formats a rate in the units in which links are sold, e.g. "4.856 Gb/s".
std::string rate_text(netmodel::BytesPerSecond rate);

/// Returns a text that states how much memory each GPU needs at least, and whether the GPU has that much.
std::string memory_text(const netmodel::MemoryEstimate& memory);

/// Returns the only price, or an object with the prices on all clusters.
Json on_clusters(const std::vector<Json>& prices);

/// Prints a job's price on a cluster: the parts of a step, speed-ups and the break-even rate.
void print_price(const analysis::ClusterPrice& price, const analysis::Job& job, std::ostream& out);

/// Returns an object with the members of the last stage and, as an array, all stages.
Json to_json(const analysis::ClusterPrice& price, const analysis::Job& job);

/// Prints speed-ups against the rate of the network, one curve per column. cluster: name of the cluster.
void print_curves(const std::vector<analysis::SpeedupCurve>& curves, const analysis::Job& job,
                  const std::string& cluster, std::ostream& out);
Json to_json(const std::vector<analysis::SpeedupCurve>& curves, const analysis::Job& job);

/// Writes speedup.csv and the picture into a folder and returns their paths.
std::vector<std::string> write_curves(const std::vector<analysis::SpeedupCurve>& curves, const analysis::Job& job,
                                      const std::string& folder);

/// Prints samples per second and efficiency for different numbers of nodes.
void print_scaling(const analysis::ScalingPrice& scaling, const std::string& optimizer, std::ostream& out);
Json to_json(const analysis::ScalingPrice& scaling);

}  // namespace onebit::experiments
