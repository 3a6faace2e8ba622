#include "netmodel/cost/cost_model.hpp"

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "netmodel/cost/closed_form.hpp"
#include "netmodel/cost/fluid.hpp"
#include "netmodel/cost/link_load.hpp"
#include "netmodel/cost/simgrid/simgrid.hpp"
#include "netmodel/cost/table_model.hpp"

namespace onebit::netmodel {

std::string text(const Link& link) {
  const std::string number = std::to_string(link.number);
  switch (link.kind) {
    case Link::Kind::none:
      return "none";
    case Link::Kind::gpu_out:
      return "link of GPU " + number + " (out)";
    case Link::Kind::gpu_in:
      return "link of GPU " + number + " (in)";
    case Link::Kind::nic_out:
      return "network link of node " + number + " (out)";
    case Link::Kind::nic_in:
      return "network link of node " + number + " (in)";
    case Link::Kind::leaf_out:
      return "uplinks of leaf switch " + std::to_string(link.number) + " (out)";
    case Link::Kind::leaf_in:
      return "uplinks of leaf switch " + std::to_string(link.number) + " (in)";
  }
  return "?";
}

const std::vector<CostModelEntry>& cost_models() {
  static const std::vector<CostModelEntry> table = {
      {"link-load", "latencies, plus the time of the most loaded link in each phase",
       [](const CostModelConfig&) { return std::unique_ptr<CostModel>(new LinkLoad); }},
      {"fluid", "event simulation of flows that share links fairly; slow for many GPUs",
       [](const CostModelConfig& config) {
         return std::unique_ptr<CostModel>(new Fluid(config.jobs, config.background));
       }},
      {"simgrid", "SimGrid's flow-level simulation; needs a plugin, which is built where SimGrid is installed",
       [](const CostModelConfig&) { return std::unique_ptr<CostModel>(new SimGrid); }, true},
      {"table", "measured times, from tables or logs of nccl-tests: --cost-table FILE,..",
       [](const CostModelConfig& config) {
         return std::unique_ptr<CostModel>(new TableModel(read_measurements(config.table), config.on_extended));
       },
       true},
      {"closed-form", "textbook formulas, for equal nodes that hold the ranks in order",
       [](const CostModelConfig&) { return std::unique_ptr<CostModel>(new ClosedForm); }},
  };
  return table;
}

std::unique_ptr<CostModel> make_cost_model(const CostModelConfig& config) {
  if (!config.table.empty() && config.name != "table") {
    throw ConfigError("--cost-table has no effect", "cost model " + config.name,
                      "use --cost-model table, or leave the option out");
  }
  if ((config.jobs != 1 || !config.background.empty()) && config.name != "fluid") {
    throw ConfigError("--fluid.jobs and --fluid.background have no effect", "cost model " + config.name,
                      "use --cost-model fluid, or leave the option out");
  }
  if (config.jobs < 1 || config.jobs > 64)
    throw ConfigError("option out of range", "fluid.jobs " + std::to_string(config.jobs), "from 1 to 64");
  if (config.table.empty() && config.name == "table") {
    throw ConfigError("the cost model table needs measurements", "", "give files with --cost-table FILE,..");
  }
  std::vector<std::string_view> names;
  for (const CostModelEntry& entry : cost_models()) {
    if (entry.name == config.name) return entry.make(config);
    names.push_back(entry.name);
  }
  throw ConfigError("unknown cost model \"" + config.name + "\"", "", suggestion(config.name, names));
}

}  // namespace onebit::netmodel
