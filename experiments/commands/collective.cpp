#include "experiments/commands/collective.hpp"

#include <iostream>
#include <utility>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/options/cluster_files.hpp"
#include "experiments/output/pricing/price_output.hpp"
#include "experiments/study/prices.hpp"
#include "netmodel/measured/nccl_tests.hpp"
#include "netmodel/plan/selector.hpp"

namespace onebit::experiments {
namespace {

using netmodel::Bytes;
using netmodel::Cluster;
using netmodel::Collective;
using netmodel::Fabric;

/// A collective of one size, priced.
struct Row {
  Bytes size;
  netmodel::Priced price;
  double algbw = 0, busbw = 0;  ///< in bytes per second, as nccl-tests defines them
};

std::vector<Row> rows_of(const PriceConfig& config, const Fabric& fabric, const netmodel::CostModel& model) {
  const Collective collective = *config.collective;
  std::vector<Row> rows;
  for (const Bytes& size : config.sizes) {
    const Bytes payload = netmodel::payload_of_size(collective, size, fabric.ranks());
    Row row{size, netmodel::price(collective, payload, fabric, model)};
    const double seconds = row.price.estimate.total.value;
    if (seconds > 0) row.algbw = size.value / seconds;
    row.busbw = row.algbw * netmodel::bus_factor(collective, fabric.ranks());
    rows.push_back(row);
  }
  return rows;
}

void print(const Cluster& cluster, const Fabric& fabric, const std::vector<Row>& rows) {
  std::cout << cluster_text(cluster, fabric.nodes(), fabric.width()) << "\n\n";
  Table table({"size", "time", "algbw GB/s", "busbw GB/s", "bytes per node's network links", "algorithm", "protocol"});
  for (const Row& row : rows) {
    table.add({bytes_text(row.size.value), seconds_text(row.price.estimate.total.value), number(row.algbw / 1e9, 3),
               number(row.busbw / 1e9, 3), bytes_text(row.price.estimate.nic_bytes.value),
               std::string(netmodel::name(row.price.choice.algorithm)),
               std::string(netmodel::name(row.price.choice.protocol))});
  }
  table.print(std::cout);
  const Row& last = rows.back();
  std::cout << "\nbottleneck: " << netmodel::text(last.price.estimate.bottleneck)
            << "; algorithm: " << last.price.choice.reason << "\n";
}

Json to_json(const Cluster& cluster, const Fabric& fabric, const PriceConfig& config, const std::vector<Row>& rows) {
  std::vector<Json> items;
  for (const Row& row : rows) {
    items.push_back(Json::object({{"bytes", row.size.value},
                                  {"seconds", row.price.estimate.total.value},
                                  {"latency_seconds", row.price.estimate.latency.value},
                                  {"algbw_bytes_per_second", row.algbw},
                                  {"busbw_bytes_per_second", row.busbw},
                                  {"nic_bytes_per_node", row.price.estimate.nic_bytes.value},
                                  {"algorithm", std::string(netmodel::name(row.price.choice.algorithm))},
                                  {"protocol", std::string(netmodel::name(row.price.choice.protocol))},
                                  {"reason", row.price.choice.reason},
                                  {"bottleneck", netmodel::text(row.price.estimate.bottleneck)}}));
  }
  return Json::object({{"cluster", cluster.name},
                       {"source", std::string(netmodel::name(cluster.source))},
                       {"nodes", fabric.nodes()},
                       {"gpus_per_node", fabric.width()},
                       {"collective", std::string(netmodel::name(*config.collective))},
                       {"sizes", Json::array(items)}});
}

Index ranks_on(const Cluster& cluster, Index workers) {
  const Index ranks = workers > 0 ? workers : cluster.nodes * cluster.gpus_per_node;
  if (ranks > 0) return ranks;
  throw ConfigError("the number of GPUs is not known", "price --collective",
                    "give --workers N, or --cluster.nodes M for M nodes");
}

}  // namespace

int price_collective(const PriceConfig& config, Index workers, bool json) {
  if (config.sizes.empty())
    throw ConfigError("no size is given for the collective", "price --collective", "give --bytes, e.g. 1MB,1GB");
  const auto model = netmodel::make_cost_model(config.cost_model);
  std::vector<Json> all;
  bool first = true;
  for (const Cluster& cluster : clusters_of(config)) {
    const Fabric fabric(cluster, ranks_on(cluster, workers));
    const std::vector<Row> rows = rows_of(config, fabric, *model);
    if (json) {
      all.push_back(to_json(cluster, fabric, config, rows));
      continue;
    }
    if (!std::exchange(first, false)) std::cout << "\n";
    print(cluster, fabric, rows);
  }
  if (json) std::cout << on_clusters(all).text() << "\n";
  return kExitDone;
}

}  // namespace onebit::experiments
