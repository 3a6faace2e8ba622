#include "experiments/options/price_options.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/pricing/boundary.hpp"
#include "experiments/options/cluster_files.hpp"
#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {
namespace {

Option<PriceConfig> gradient_option() {
  return choice<PriceConfig>(
      "step.gradient", "type of dense gradients on the wire; auto: fp16, or for a log the logged type",
      ONEBIT_PLACE(gradient_bytes), std::map<std::string, double>{{"auto", 0}, {"fp16", 2}, {"fp32", 4}});
}

/// Returns the row of an option whose value lists flows from GPU to GPU, such as "0:5,1:6".
Option<PriceConfig> background_option() {
  const char* name = "fluid.background";
  return {
      name, "cost model fluid: endless flows of other jobs, FROM:TO,.. with GPUs numbered from 0",
      [name](PriceConfig& config, const std::string& text) {
        config.cost_model.background.clear();
        for (const std::string& item : split(text, ',')) {
          const std::vector<std::string> parts = split(item, ':');
          if (parts.size() != 2) malformed(name, text, "FROM:TO,FROM:TO");
          config.cost_model.background.push_back({parse_integer(name, parts[0]), parse_integer(name, parts[1]), {}});
        }
      },
      [](const PriceConfig& config) {
        std::vector<std::string> items;
        for (const netmodel::Flow& flow : config.cost_model.background) {
          items.push_back(std::to_string(flow.from) + ":" + std::to_string(flow.to));
        }
        return join(items, ",");
      }};
}

/// Returns the options that say what is priced and how a step is composed.
std::vector<Option<PriceConfig>> pricing_options() {
  using netmodel::CodecKernels, netmodel::Overlap, netmodel::Sharding;
  return {
      named(list<PriceConfig>("cluster", "clusters to price: presets ('onebit list clusters') or INI files", "clusters",
                              ONEBIT_PLACE(clusters)),
            [] { return names_of(netmodel::clusters()); }),
      named(field<PriceConfig>("workload", "what a GPU computes: a preset ('onebit list workloads') or an INI file",
                               ONEBIT_PLACE(workload)),
            [] { return names_of(netmodel::workloads()); }),
      named(field<PriceConfig>("cost-model", "model of the time of collectives, see 'onebit list cost-models'",
                               ONEBIT_PLACE(cost_model.name)),
            [] { return names_of(netmodel::cost_models()); }),
      field<PriceConfig>("fluid.jobs",
                         "cost model fluid: number of equal jobs that run on the same GPUs at the same time",
                         ONEBIT_PLACE(cost_model.jobs)),
      background_option(),
      list<PriceConfig>("cost-table", "cost model table: files of measured times, CSV or logs of nccl-tests, FILE,..",
                        "files", ONEBIT_PLACE(cost_model.table)),
      choice<PriceConfig>(
          "step.overlap",
          "exchange of dense gradients in buckets during the backward pass; cluster: as set for the cluster",
          ONEBIT_PLACE(step.overlap),
          std::map<std::string, Overlap>{
              {"cluster", Overlap::cluster}, {"none", Overlap::none}, {"buckets", Overlap::buckets}}),
      {"step.bucket",
       "bytes per bucket of gradients; 0: the cheapest size from 25 MB up, or a single bucket after the backward pass "
       "if that is cheaper",
       [](PriceConfig& config, const std::string& text) {
         config.step.bucket = netmodel::Bytes(static_cast<double>(parse_bytes("step.bucket", text)));
       },
       [](const PriceConfig& config) { return to_text(config.step.bucket.value); }},
      choice<PriceConfig>("step.sharding",
                          "ZeRO's stage: what is sharded over the GPUs in dense steps; zero3 is FSDP, zero++ "
                          "the same with quantized exchanges",
                          ONEBIT_PLACE(step.sharding),
                          std::map<std::string, Sharding>{{"none", Sharding::none},
                                                          {"zero1", Sharding::zero1},
                                                          {"zero2", Sharding::zero2},
                                                          {"zero3", Sharding::zero3},
                                                          {"zero++", Sharding::zeropp}}),
      field<PriceConfig>("step.stretch", "share by which overlapping communication slows the backward pass down",
                         ONEBIT_PLACE(step.stretch)),
      choice<PriceConfig>(
          "step.codec",
          "kernels of the codec: fused ones, which touch the fewest bytes, or those released with 1-bit Adam "
          "(176 bytes per element)",
          ONEBIT_PLACE(step.codec),
          std::map<std::string, CodecKernels>{{"fused", CodecKernels::fused}, {"released", CodecKernels::released}}),
      choice<PriceConfig>(
          "step.exchange", "1-bit exchange among all ranks, or dense inside nodes and 1-bit between them",
          ONEBIT_PLACE(step.hierarchical), std::map<std::string, bool>{{"flat", false}, {"hierarchical", true}}),
      gradient_option(),
      field<PriceConfig>("step.warmup-share",
                         "share of the steps before the last stage; not given: from --freeze fraction:F, or from "
                         "--steps and the optimizer's schedule, or 0.15",
                         ONEBIT_PLACE(warmup_share)),
      field<PriceConfig>("step.parameters", "number of parameters; 0: the workload's own", ONEBIT_PLACE(parameters))};
}

/// Returns the options for workloads with embedding tables.
std::vector<Option<PriceConfig>> table_options() {
  using netmodel::TableSplit;
  return {
      choice<PriceConfig>(
          "tables.split", "parts of the embedding tables that a GPU holds: tables, rows or columns",
          ONEBIT_PLACE(hybrid.split),
          std::map<std::string, TableSplit>{
              {"table", TableSplit::table_wise}, {"row", TableSplit::row_wise}, {"column", TableSplit::column_wise}}),
      named(
          field<PriceConfig>("boundary.codec",
                             "codec of pooled embeddings and their gradients: dct-mp, or one of 'onebit list codecs'; "
                             "fp32: uncompressed",
                             ONEBIT_PLACE(hybrid.codec)),
          [] { return analysis::boundary_codecs(); }),
      field<PriceConfig>("boundary.k", "share of the values that dct-mp or a sparse codec sends, below 1",
                         ONEBIT_PLACE(hybrid.density)),
      choice<PriceConfig>("boundary.values", "type of the values that dct-mp sends", ONEBIT_PLACE(hybrid.value_bytes),
                          std::map<std::string, double>{{"fp32", 4}, {"fp16", 2}, {"int8", 1}}),
      field<PriceConfig>("step.model-ratio",
                         "assume that the exchanges of embedding tables send this many times fewer bytes, at no cost",
                         ONEBIT_PLACE(hybrid.model_ratio)),
      field<PriceConfig>("step.data-ratio",
                         "assume that the exchanges of the optimizer send this many times fewer bytes, at no cost",
                         ONEBIT_PLACE(hybrid.data_ratio))};
}

Option<PriceConfig> collective_option() {
  using netmodel::Collective;
  return choice<PriceConfig>(
      "collective", "price this collective alone", ONEBIT_PLACE(collective),
      std::map<std::string, std::optional<Collective>>{{"none", std::nullopt},
                                                       {"all-reduce", Collective::all_reduce},
                                                       {"all-gather", Collective::all_gather},
                                                       {"reduce-scatter", Collective::reduce_scatter},
                                                       {"all-to-all", Collective::all_to_all},
                                                       {"broadcast", Collective::broadcast}});
}

Option<PriceConfig> sizes_option() {
  const char* name = "bytes";
  return {name, "--collective: sizes, as nccl-tests counts them (all-gather: size of its result), e.g. 1MB,1GB",
          [name](PriceConfig& config, const std::string& text) {
            config.sizes.clear();
            for (const std::string& item : split(text, ',')) {
              config.sizes.emplace_back(static_cast<double>(parse_bytes(name, item)));
            }
          },
          [](const PriceConfig& config) {
            std::vector<std::string> items;
            for (const netmodel::Bytes& size : config.sizes) items.push_back(to_text(size.value));
            return join(items, ",");
          }};
}

/// Returns the options with which the command `price` does something other than price one step.
std::vector<Option<PriceConfig>> task_options() {
  return {
      named(
          list<PriceConfig>("optimizers",
                            "compare these optimizers on every cluster, the fastest first: all, or NAME,NAME:CODEC,..",
                            "optimizers", ONEBIT_PLACE(optimizers)),
          [] {
            std::vector<std::string> names = names_of(optim::optimizers());
            names.emplace_back("all");
            return names;
          }),
      collective_option(),
      sizes_option(),
      field<PriceConfig>(
          "target", "held-out loss to reach; the time, or the number of steps, that a run needs for it is reported",
          ONEBIT_PLACE(target)),
      list<PriceConfig>("calibrate",
                        "fit a cluster to the measured all-reduces in these files, CSV or logs of nccl-tests, FILE,..",
                        "files", ONEBIT_PLACE(calibrate)),
      field<PriceConfig>("goal", "write a step of the last stage to this file, as a GOAL schedule for LogGOPSim",
                         ONEBIT_PLACE(goal)),
      field<PriceConfig>("sweep.bandwidth",
                         "show speed-ups for a range of rates of a node's network link: LOW:HIGH:COUNT",
                         ONEBIT_PLACE(sweep)),
      integers<PriceConfig>("sweep.gpus-per-node",
                            "--sweep.bandwidth: one curve for each number of GPUs per node, e.g. 1,4,8",
                            ONEBIT_PLACE(widths)),
      field<PriceConfig>("sweep.shorter",
                         "find the rate of a node's network link at which a step is shorter than dense Adam's "
                         "by this share, e.g. 0.37",
                         ONEBIT_PLACE(shorter)),
      integers<PriceConfig>("sweep.nodes", "show weak and strong scaling over numbers of nodes, e.g. 1,2,4,8",
                            ONEBIT_PLACE(nodes))};
}

std::vector<Option<PriceConfig>> time_options() {
  const auto time = [](const char* name, const char* help, auto place) {
    return quantity<PriceConfig>(name, help, place, parse_seconds);
  };
  return {
      time("step.forward", "seconds of all forward passes of a step; not given: the workload's", ONEBIT_PLACE(forward)),
      time("step.backward", "seconds of all backward passes of a step; not given: the workload's",
           ONEBIT_PLACE(backward)),
      time("step.optimizer", "seconds of the update; not given: the workload's", ONEBIT_PLACE(optimizer))};
}

/// Returns an option for each key of a cluster, which replaces the key's value.
std::vector<Option<PriceConfig>> replacement_options() {
  std::vector<Option<PriceConfig>> all;
  for (const Option<netmodel::Cluster>& option : cluster_options()) {
    const std::string key = option.name;
    all.push_back(
        {"cluster." + key,
         option.help,
         [key](PriceConfig& config, const std::string& text) { config.cluster_settings.emplace_back(key, text); },
         [](const PriceConfig&) { return std::string("the cluster's"); },
         false,
         {},
         {},
         {},
         {},
         option.words});
  }
  return all;
}

void check(const PriceConfig& config) {
  const auto refuse = [](const std::string& what, const std::string& wanted) {
    throw ConfigError("option out of range", what, wanted);
  };
  if (config.warmup_share < 0 || config.warmup_share > 1) refuse("step.warmup-share", "from 0 to 1");
  if (!(config.step.bucket.value >= 0)) refuse("step.bucket", "bytes, e.g. 25MB");
  if (!(config.step.stretch >= 0 && config.step.stretch <= 10)) refuse("step.stretch", "from 0 to 10");
  if (config.parameters < 0 || config.parameters > Index{1} << 40) {
    refuse("step.parameters", "at most 1e12; 0 for the workload's own");
  }
  if (!(config.hybrid.density > 0 && config.hybrid.density < 1)) refuse("boundary.k", "above 0 and below 1");
  for (const double ratio : {config.hybrid.model_ratio, config.hybrid.data_ratio}) {
    if (!(ratio >= 1 && ratio <= 1e9)) refuse("step.model-ratio or .data-ratio", "from 1 to 1e9");
  }
  if (!std::isnan(config.shorter) && !(config.shorter > 0 && config.shorter < 1))
    refuse("sweep.shorter", "a share above 0 and below 1");
  for (const netmodel::Seconds& time : {config.forward, config.backward, config.optimizer}) {
    if (time.value < 0) refuse("step.forward, .backward or .optimizer", "seconds, not negative");
  }
  if (config.clusters.empty()) refuse("cluster", "name a preset or an INI file");
}

}  // namespace

const std::vector<Option<PriceConfig>>& price_options() {
  static const std::vector<Option<PriceConfig>> table = joined<PriceConfig>(
      {grouped("clusters, workload and step", pricing_options()), grouped("embedding tables", table_options()),
       grouped("other tasks", task_options()), grouped("times of a step", time_options()),
       grouped("values that override the settings of every cluster", replacement_options())});
  return table;
}

PriceConfig make_price_config(const Settings& settings) {
  PriceConfig config;
  for (const auto& [name, value] : settings) option_in(price_options(), name, "--").set(config, value);
  config.names_clusters =
      std::any_of(settings.begin(), settings.end(), [](const auto& setting) { return setting.first == "cluster"; });
  check(config);
  return config;
}

bool is_for_runs_too(const std::string& name) {
  constexpr std::string_view tasks[] = {"optimizers", "collective", "bytes", "calibrate", "target", "goal"};
  constexpr std::string_view tables[] = {"tables.split", "step.model-ratio", "step.data-ratio"};  // not in logs
  if (name.starts_with("boundary.") || std::ranges::find(tables, name) != std::end(tables)) return false;
  return !name.starts_with("sweep.") && std::ranges::find(tasks, name) == std::end(tasks);
}

}  // namespace onebit::experiments
