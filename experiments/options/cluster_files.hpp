#pragma once
// Clusters and workloads: presets, or INI files.

#include <string>
#include <vector>

#include "experiments/options/options.hpp"
#include "netmodel/step/step_model.hpp"

namespace onebit::experiments {

/// Returns the keys of a cluster's INI file; prefixed with "cluster." they are options of the command line.
const std::vector<Option<netmodel::Cluster>>& cluster_options();

/// Loads a preset, or a file (a name that ends in .ini), and applies the settings. Throws ConfigError for an unknown
/// key, a malformed value, and an impossible cluster.
netmodel::Cluster load_cluster(const std::string& name, const Settings& settings);

/// Loads one of `onebit list workloads`, or a file (a name that ends in .ini) with parameters, batch, forward and
/// backward (seconds of a micro-batch with that many samples), and optionally doc, optimizer (seconds), gpu (on which
/// these times were measured) and tables (count or rows, width, ids, bottom-share). Throws ConfigError.
netmodel::Workload load_workload(const std::string& name);

/// Writes a cluster as an INI file that load_cluster reads. Throws IoError.
void write_cluster(const netmodel::Cluster& cluster, const std::string& path);

}  // namespace onebit::experiments
