#include "experiments/options/cluster_files.hpp"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "device/base/files.hpp"
#include "experiments/options/option_fields.hpp"
#include "experiments/options/parse_error.hpp"

namespace onebit::experiments {
namespace {

using netmodel::Cluster;
using netmodel::NodeFactor;

/// Returns a field of a link; Place returns the link.
template <class Place, auto field>
auto& in_link(Cluster& cluster) {
  return Place()(cluster).*field;
}

template <class Place>
std::vector<Option<Cluster>> link_options(const std::string& link, const std::string& what, Place /*place*/) {
  using Spec = netmodel::LinkSpec;
  return {quantity<Cluster>(link + ".nominal", what + ": line rate, used to choose algorithms",
                            in_link<Place, &Spec::nominal>, parse_rate),
          quantity<Cluster>(link + ".effective", what + ": rate that collectives reach",
                            in_link<Place, &Spec::effective>, parse_rate),
          quantity<Cluster>(link + ".latency", what + ": latency of one step of a collective",
                            in_link<Place, &Spec::latency>, parse_seconds),
          quantity<Cluster>(link + ".per-message", what + ": additional sender time per message",
                            in_link<Place, &Spec::per_message>, parse_seconds),
          quantity<Cluster>(link + ".stream-cap", what + ": highest rate of one stream; 0: no limit",
                            in_link<Place, &Spec::stream_cap>, parse_rate),
          field<Cluster>(link + ".scale-penalty", what + ": k in effective / (1 + k log2 nodes)",
                         in_link<Place, &Spec::scale_penalty>)};
}

/// Returns the row of an option with values such as "3:0.5,7:0.25".
template <class Place>
Option<Cluster> node_factors(const std::string& name, const std::string& help, Place place) {
  return {name, help,
          [name, place](Cluster& cluster, const std::string& text) {
            std::vector<NodeFactor> factors;
            for (const std::string& item : split(text, ',')) {
              const std::vector<std::string> parts = split(item, ':');
              if (parts.size() != 2) malformed(name, text, "NODE:FACTOR,NODE:FACTOR with nodes numbered from 0");
              factors.push_back({parse_integer(name, parts[0]), parse_real(name, parts[1])});
            }
            place(cluster) = factors;
          },
          [place](const Cluster& cluster) {
            std::vector<std::string> items;
            for (const NodeFactor& each : place(const_cast<Cluster&>(cluster))) {
              items.push_back(std::to_string(each.node) + ":" + shortest(each.factor));
            }
            return join(items, ",");
          }};
}

Option<Cluster> gpu_link_option() {
  return {"gpu-link", "link of a GPU inside its node: " + join(names_of(netmodel::gpu_links()), ", "),
          [](Cluster& cluster, const std::string& text) {
            const netmodel::GpuLink& link = netmodel::find_gpu_link(text);
            cluster.gpu_link = link.link;
            cluster.nvlink = link.nvlink;
            cluster.nvls = link.nvls;
          },
          [](const Cluster& cluster) {
            for (const netmodel::GpuLink& each : netmodel::gpu_links()) {
              if (each.link.effective == cluster.gpu_link.effective) return std::string(each.name);
            }
            return std::string();
          }};
}

std::vector<Option<Cluster>> node_options() {
  using netmodel::Placement, netmodel::Selection;
  return {
      field<Cluster>("doc", "description of the cluster, one line", ONEBIT_PLACE(doc)),
      choice<Cluster>("source", "origin of the cluster's numbers", ONEBIT_PLACE(source),
                      std::map<std::string, netmodel::Source>{{"published", netmodel::Source::published},
                                                              {"fitted", netmodel::Source::fitted},
                                                              {"estimated", netmodel::Source::estimated}}),
      field<Cluster>("uncertainty",
                     "share by which times on the links may differ from the estimates; 0: 0.5 if the source is "
                     "estimated, otherwise 0.2",
                     ONEBIT_PLACE(uncertainty)),
      field<Cluster>("nodes", "number of nodes; 0: as many as the workers need", ONEBIT_PLACE(nodes)),
      field<Cluster>("gpus-per-node", "GPUs per node, with one worker each", ONEBIT_PLACE(gpus_per_node)),
      named(field<Cluster>("gpu", "model of the GPUs: " + join(names_of(netmodel::gpus()), ", "), ONEBIT_PLACE(gpu)),
            [] { return names_of(netmodel::gpus()); }),
      {"gpu-memory", "size of a GPU's memory, e.g. 40GB; 0: the usual size of this kind of GPU",
       [](Cluster& cluster, const std::string& text) {
         cluster.gpu_memory = netmodel::Bytes(static_cast<double>(parse_bytes("gpu-memory", text)));
       },
       [](const Cluster& cluster) { return to_text(cluster.gpu_memory.value); }},
      field<Cluster>("nvlink", "whether NVLink connects the GPUs of a node; NCCL's choice of algorithm depends on it",
                     ONEBIT_PLACE(nvlink)),
      field<Cluster>("nvls", "share of the GPU link's rate at which the node's switch adds up vectors; 0: it cannot",
                     ONEBIT_PLACE(nvls)),
      field<Cluster>("gpus-per-nic",
                     "GPUs that share a network link (1: each has its own); 0: all GPUs of a node share one",
                     ONEBIT_PLACE(gpus_per_nic)),
      field<Cluster>("oversubscription", "rate of the nodes under a leaf switch / rate of its uplinks",
                     ONEBIT_PLACE(oversubscription)),
      field<Cluster>("nodes-per-leaf", "nodes under a leaf switch; traffic between them does not use its uplinks",
                     ONEBIT_PLACE(nodes_per_leaf)),
      choice<Cluster>("placement", "how ranks are placed on nodes", ONEBIT_PLACE(placement),
                      std::map<std::string, Placement>{{"contiguous", Placement::contiguous},
                                                       {"interleaved", Placement::interleaved},
                                                       {"random", Placement::random}}),
      choice<Cluster>("all-reduce", "algorithm of dense all-reduces; nccl: by NCCL's rule", ONEBIT_PLACE(all_reduce),
                      std::map<std::string, Selection>{{"ring", Selection::ring},
                                                       {"hierarchical", Selection::hierarchical},
                                                       {"tree", Selection::tree},
                                                       {"halving", Selection::halving},
                                                       {"leader", Selection::leader},
                                                       {"nvls", Selection::nvls},
                                                       {"nccl", Selection::nccl},
                                                       {"cheapest", Selection::cheapest}}),
      field<Cluster>("overlaps", "whether gradients are exchanged during the backward pass, as DDP does",
                     ONEBIT_PLACE(overlaps)),
      choice<Cluster>("all-to-all", "all-to-all in pairwise rounds, or all messages at once",
                      ONEBIT_PLACE(pairwise_all_to_all),
                      std::map<std::string, bool>{{"pairwise", true}, {"burst", false}}),
      choice<Cluster>("all-gather", "all-gather around a ring, or all messages at once",
                      ONEBIT_PLACE(direct_all_gather), std::map<std::string, bool>{{"direct", true}, {"ring", false}}),
      field<Cluster>("jitter", "standard deviation of the compute times, as a share of their mean",
                     ONEBIT_PLACE(jitter)),
  };
}

/// Returns the defaults for a cluster that a file describes.
Cluster plain_cluster(const std::string& path) {
  Cluster cluster;
  cluster.name = std::filesystem::path(path).stem().string();
  cluster.gpu_link = netmodel::find_gpu_link("nvlink3").link;
  return cluster;
}

/// Applies settings to a cluster, gpu-link first, because it sets several fields.
void apply(Cluster& cluster, const Settings& settings, const std::string& where) {
  for (const bool selectors : {true, false}) {
    for (const auto& [name, value] : settings) {
      if ((name == "gpu-link") == selectors) option_in(cluster_options(), name, where).set(cluster, value);
    }
  }
}

/// Reads keys and their values; no key may occur twice.
Settings read_ini(const std::string& path, const std::string& what) {
  namespace po = boost::program_options;
  std::istringstream file(files::read_text(path, what + " file"));
  Settings settings;
  try {
    const po::options_description any;
    for (const auto& option : po::parse_config_file(file, any, true).options) {
      settings.emplace_back(option.string_key, option.value.empty() ? "" : option.value.front());
    }
  } catch (const po::error& error) {
    throw ConfigError(reason_of(error), path,
                      "each line is 'key = value'; keys without a dot come before the first [section]");
  }
  for (const auto& [key, value] : settings) {
    const auto same = [&name = key](const auto& other) { return other.first == name; };
    if (std::count_if(settings.begin(), settings.end(), same) > 1)
      throw ConfigError("key given twice", path + ": " + key);
  }
  return settings;
}

Cluster read_cluster(const std::string& path) {
  Cluster cluster = plain_cluster(path);
  apply(cluster, read_ini(path, "cluster"), path + ": ");
  return cluster;
}

constexpr Index kMostTables = 1'000'000;

/// A workload as written in a file.
struct WorkloadFile {
  std::string doc, gpu;
  Index parameters = 0, batch = 0;
  netmodel::Seconds forward, backward, optimizer{std::numeric_limits<double>::quiet_NaN()};
  netmodel::EmbeddingTables tables;
};

const std::vector<Option<WorkloadFile>>& workload_options() {
  static const std::vector<Option<WorkloadFile>> table = {
      field<WorkloadFile>("doc", "description of the workload, one line", ONEBIT_PLACE(doc)),
      field<WorkloadFile>("gpu", "GPU on which the times were measured; empty: any", ONEBIT_PLACE(gpu)),
      field<WorkloadFile>("parameters", "number of trained parameters", ONEBIT_PLACE(parameters)),
      field<WorkloadFile>("batch", "samples per micro-batch", ONEBIT_PLACE(batch)),
      quantity<WorkloadFile>("forward", "seconds of a micro-batch's forward pass", ONEBIT_PLACE(forward),
                             parse_seconds),
      quantity<WorkloadFile>("backward", "seconds of a micro-batch's backward pass", ONEBIT_PLACE(backward),
                             parse_seconds),
      quantity<WorkloadFile>("optimizer", "seconds of an update", ONEBIT_PLACE(optimizer), parse_seconds),
      between<WorkloadFile>("tables.count", "number of embedding tables", 1, kMostTables, ONEBIT_PLACE(tables.count)),
      integers<WorkloadFile>("tables.rows", "rows of each table, instead of tables.count", ONEBIT_PLACE(tables.rows)),
      between<WorkloadFile>("tables.width", "numbers per row", 1, kMostTables, ONEBIT_PLACE(tables.width)),
      field<WorkloadFile>("tables.ids", "rows that a sample looks up in a table, on average", ONEBIT_PLACE(tables.ids)),
      field<WorkloadFile>("tables.bottom-share",
                          "share of the dense layers, by parameters and time, through which a sample passes before it "
                          "is combined with its embeddings",
                          ONEBIT_PLACE(tables.bottom_share))};
  return table;
}

/// Completes and checks the embedding tables of a file.
netmodel::EmbeddingTables tables_of(netmodel::EmbeddingTables tables, const std::string& path) {
  if (tables.rows.empty() && tables.count == 0 && tables.width == 0) return tables;
  const auto known = static_cast<Index>(tables.rows.size());
  if (known > 0 && tables.count > 0 && tables.count != known) {
    throw ConfigError("tables.count differs from the number of tables in tables.rows", path + ": tables.count",
                      "leave one of the two out");
  }
  if (known > 0) tables.count = known;
  const bool sane = tables.count >= 1 && tables.count <= kMostTables && tables.width >= 1 && tables.ids > 0 &&
                    tables.ids <= 1e6 && tables.bottom_share >= 0 && tables.bottom_share <= 1 &&
                    std::ranges::all_of(tables.rows, [](Index rows) { return rows >= 1 && rows <= Index{1} << 40; });
  if (sane) return tables;
  throw ConfigError(
      "embedding tables need a count or rows (at least 1 each), a width, ids above 0 and a bottom-share "
      "from 0 to 1",
      path + ": [tables]");
}

/// Returns whether a name is that of an INI file rather than of an entry. Throws ConfigError for a file whose name does
/// not end in .ini.
template <class Entries>
bool names_file(const std::string& name, const Entries& entries) {
  if (name.ends_with(".ini")) return true;
  const bool known = std::ranges::any_of(entries, [&](const auto& entry) { return entry.name == name; });
  if (!known && std::filesystem::is_regular_file(name)) {
    throw ConfigError("the name of this file does not end in .ini", name, "rename it");
  }
  return false;
}

}  // namespace

const std::vector<Option<Cluster>>& cluster_options() {
  static const std::vector<Option<Cluster>> table = [] {
    std::vector<Option<Cluster>> all = node_options();
    all.push_back(gpu_link_option());
    for (const auto& option : link_options("nic", "a network link", ONEBIT_PLACE(nic))) all.push_back(option);
    for (const auto& option : link_options("gpu-link", "a GPU's link in the node", ONEBIT_PLACE(gpu_link))) {
      all.push_back(option);
    }
    all.push_back(node_factors("nic-shares", "nodes whose network links run at only a share of the rate: NODE:SHARE,..",
                               ONEBIT_PLACE(nic_shares)));
    all.push_back(node_factors("stragglers", "nodes that compute more slowly, by a factor: NODE:FACTOR,..",
                               ONEBIT_PLACE(stragglers)));
    return all;
  }();
  return table;
}

Cluster load_cluster(const std::string& name, const Settings& settings) {
  Cluster cluster = names_file(name, netmodel::clusters()) ? read_cluster(name) : netmodel::find_cluster(name);
  apply(cluster, settings, "--cluster.");
  netmodel::check(cluster);
  return cluster;
}

netmodel::Workload load_workload(const std::string& name) {
  if (!names_file(name, netmodel::workloads())) return netmodel::find_workload(name);
  WorkloadFile file;
  for (const auto& [key, value] : read_ini(name, "workload")) {
    option_in(workload_options(), key, name + ": ").set(file, value);
  }
  const bool sane = file.parameters >= 1 && file.batch >= 1 && file.forward.value >= 0 && file.backward.value >= 0 &&
                    !(file.optimizer.value < 0);
  if (!sane) {
    throw ConfigError("a workload needs parameters, batch (at least 1), forward and backward (seconds)", name);
  }
  if (!file.gpu.empty()) netmodel::find_gpu(file.gpu);
  netmodel::Workload workload;
  workload.name = std::filesystem::path(name).stem().string();
  workload.doc = file.doc;
  workload.parameters = file.parameters;
  workload.batches = {{file.gpu, static_cast<double>(file.batch), file.forward, file.backward}};
  workload.tables = tables_of(file.tables, name);
  if (!std::isnan(file.optimizer.value)) workload.updates = {{file.gpu, file.optimizer}};
  return workload;
}

void write_cluster(const Cluster& cluster, const std::string& path) {
  std::ostringstream file;
  std::string section;
  for (const bool in_section : {false, true}) {
    for (const Option<Cluster>& option : cluster_options()) {
      const std::size_t dot = option.name.find('.');
      if ((dot != std::string::npos) != in_section || (!in_section && option.get(cluster).empty())) continue;
      const std::string owner = in_section ? option.name.substr(0, dot) : "";
      if (owner != section) file << "\n[" << (section = owner) << "]\n";
      file << option.name.substr(in_section ? dot + 1 : 0) << " = " << option.get(cluster) << "\n";
    }
  }
  files::write(path, file.str());
}

}  // namespace onebit::experiments
