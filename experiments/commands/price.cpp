#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "analysis/log/log_options.hpp"
#include "compress/codecs/codec.hpp"
#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"
#include "experiments/cli/terminal.hpp"
#include "experiments/commands/calibrate.hpp"
#include "experiments/commands/collective.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/cluster_files.hpp"
#include "experiments/output/pricing/hybrid_output.hpp"
#include "experiments/output/pricing/price_output.hpp"
#include "experiments/output/pricing/ranking_output.hpp"
#include "experiments/study/prices.hpp"
#include "optim/optimizer.hpp"

namespace onebit::experiments {
namespace {

using analysis::Job;
using netmodel::Cluster;

struct Options : CommandInput {
  std::string out;
  bool json = false;
};

std::vector<Option<Options>> rows() {
  return {out_row<Options>("--sweep.bandwidth: folder for table and picture; --calibrate: file for the fitted cluster"),
          json_row<Options>()};
}

/// Returns the number of workers; 0 if it was not given, because its default is meant for runs.
Index given_workers(const Options& options) {
  const bool given = has_option(options.run.settings, "workers");
  return given ? make_config(options.run.settings).workers : 0;
}

/// Returns the plan of a run that the options describe.
analysis::JobPlan plan_of(const Options& options, const PriceConfig& config, const sim::RunConfig& run) {
  constexpr double fp16 = 2;
  return {.rules = rules_of(config, fp16),
          .parameters = config.parameters,
          .warmup_share = config.warmup_share,
          .workers = given_workers(options),
          .run = run};
}

/// Makes the job from the log if one is given, otherwise from the workload.
Job job_of(const Options& options, const PriceConfig& config, const Cluster& cluster) {
  const std::vector<std::string>& logs = options.arguments;
  if (logs.size() > 1) throw ConfigError("unexpected argument", logs[1], "give one log");
  if (logs.empty() && config.workload.empty())
    throw ConfigError("nothing to price", "price", "give a log or --workload NAME, see 'onebit list workloads'");
  if (logs.empty() && !std::isnan(config.target))
    throw ConfigError("--target needs a log", "target", "onebit price LOG.h5 --target LOSS");
  if (!logs.empty()) return analysis::job_of_log(logs.front(), rules_of(config));
  return analysis::plan_job(plan_of(options, config, make_config(options.run.settings)), cluster);
}

/// Returns the optimizers to rank, as NAME or NAME:CODEC.
std::vector<std::string> ranked_optimizers(const PriceConfig& config) {
  std::vector<std::string> names;
  for (const optim::OptimizerEntry& entry : optim::optimizers()) names.emplace_back(entry.name);
  if (config.optimizers == std::vector<std::string>{"all"}) {
    names.emplace_back("ef-momentum-sgd:power-sgd");
    return names;
  }
  for (const std::string& each : config.optimizers) {
    const std::string name = split(each, ':').front();
    if (std::ranges::find(names, name) == names.end()) {
      const std::vector<std::string_view> known(names.begin(), names.end());
      throw ConfigError("unknown optimizer", "--optimizers " + name, suggestion(name, known));
    }
    if (name == each) continue;
    compress::codec_entry(each.substr(name.size() + 1));
    optim::OptimizerConfig optimizer;
    optimizer.name = name;
    if (optim::codecs_of(optimizer) == optim::Codecs::none)
      throw ConfigError("this optimizer has no codec", "--optimizers " + each, "give its name alone");
  }
  return config.optimizers;
}

/// Checks the options. The task of `price` determines which of them have an effect.
class Use {
 public:
  Use(const Options& options, const PriceConfig& config) : options_(options), config_(config) {}

  /// Throws ConfigError for an option without effect, an existing output, and a missing folder.
  void check() const {
    const bool sweeps = !config_.sweep.empty(), calibrates = !config_.calibrate.empty();
    if (calibrates) check_alone("--calibrate", {"calibrate"}, "");
    if (config_.collective) {
      check_alone("--collective", {"collective", "bytes", "cost-model", "cost-table", "fluid.jobs", "fluid.background"},
                  "workers");
    }
    if (!config_.optimizers.empty()) check_ranking();
    if (!std::isnan(config_.shorter))
      not_with("--sweep.shorter", {"goal", "target", "sweep.bandwidth", "sweep.nodes", "optimizers"});
    if (!config_.nodes.empty()) not_with("--sweep.nodes", {"goal", "target", "sweep.bandwidth", "sweep.gpus-per-node"});
    if (sweeps) not_with("--sweep.bandwidth", {"goal", "target"});
    if (!sweeps && !config_.widths.empty()) refuse("sweep.gpus-per-node", "leave it out, or give --sweep.bandwidth");
    if (!sweeps && !calibrates && !options_.out.empty())
      refuse("out", "leave it out, or give --sweep.bandwidth or --calibrate");
    if (!options_.arguments.empty()) {
      not_with("a log", {"step.parameters", "step.warmup-share", "step.data-ratio", "sweep.nodes"});
      if (!options_.run.settings.empty())
        refuse(options_.run.settings.front().first, "leave it out, because the log holds the options of its run");
    }
    if ((sweeps || !config_.goal.empty() || !std::isnan(config_.shorter)) && config_.clusters.size() != 1) {
      throw ConfigError("--sweep.bandwidth, --sweep.shorter and --goal need a single cluster", "price",
                        "name it with --cluster NAME");
    }
    check_output(config_.goal);
    if (calibrates) check_output(options_.out);
    if (sweeps && !options_.out.empty()) check_free(options_.out + "/speedup.csv");
  }

 private:
  [[noreturn]] static void refuse(const std::string& option, const std::string& why) {
    throw ConfigError("option has no effect here", "--" + option, why);
  }

  void not_with(const std::string& mode, const std::vector<std::string>& others) const {
    for (const auto& [name, value] : options_.price) {
      if (std::find(others.begin(), others.end(), name) != others.end())
        refuse(name, "it cannot be combined with " + mode);
    }
  }

  void check_ranking() const {
    not_with("--optimizers", {"goal", "target", "sweep.bandwidth", "sweep.nodes", "collective", "calibrate"});
    if (has_option(options_.run.settings, "optimizer")) refuse("optimizer", "it cannot be combined with --optimizers");
    if (!options_.arguments.empty())
      throw ConfigError("unexpected argument", options_.arguments.front(), "--optimizers takes no log");
  }

  /// Throws for a log, and for options other than `allowed`, `of_run` and those of clusters.
  void check_alone(const std::string& mode, const std::vector<std::string>& allowed, const std::string& of_run) const {
    const std::string why = "it cannot be combined with " + mode;
    for (const auto& [name, value] : options_.price) {
      if (!name.starts_with("cluster") && std::ranges::find(allowed, name) == allowed.end()) refuse(name, why);
    }
    for (const auto& [name, value] : options_.run.settings) {
      if (name != of_run) refuse(name, why);
    }
    if (!options_.arguments.empty())
      throw ConfigError("unexpected argument", options_.arguments.front(), mode + " takes no log");
  }

  static void check_free(const std::string& output) { files::check_output(output, false, "give another name"); }
  static void check_output(const std::string& output) {
    if (output.empty()) return;
    check_free(output);
    check_folder_of(output);
  }

  const Options& options_;
  const PriceConfig& config_;
};

constexpr const char* kRange = "LOW:HIGH:COUNT, e.g. 50Mb/s:400Gb/s:40";

std::vector<double> rates_of(const std::string& range) {
  const std::vector<std::string> parts = split(range, ':');
  if (parts.size() != 3) throw ConfigError("malformed option value", "sweep.bandwidth '" + range + "'", kRange);
  const double low = parse_rate("sweep.bandwidth", parts[0]), high = parse_rate("sweep.bandwidth", parts[1]);
  const Index count = parse_integer("sweep.bandwidth", parts[2]);
  constexpr double least = 1e3;  // bytes per second; a smaller number was meant in another unit
  if (!(low >= least && high > low && high <= 1e12) || count < 2 || count > 10000)
    throw ConfigError("option out of range", "sweep.bandwidth " + range,
                      "LOW at least 8 kb/s, HIGH above LOW and at most 8 Tb/s, COUNT from 2 to 10000");
  return analysis::spaced_rates(low, high, count);
}

/// Throws ConfigError for a job that would be compared with itself.
void require_method(const Job& job, const std::string& mode) {
  if (analysis::is_dense_adam(job))
    throw ConfigError(mode + " compares with dense Adam", "optimizer adam",
                      job.log ? "name the log of a run that compresses"
                              : "name an optimizer or a codec that compresses, such as --optimizer onebit-adam");
}

/// Prints speed-ups at other rates and, if a folder is given, writes the file and the picture.
int sweep_rates(const Options& options, const PriceConfig& config, const Job& job, const Cluster& cluster) {
  require_method(job, "--sweep.bandwidth");
  const std::vector<analysis::SpeedupCurve> curves =
      analysis::sweep_bandwidth(job, cluster, config.cost_model, rates_of(config.sweep), config.widths);
  std::vector<std::string> paths;
  if (!options.out.empty()) {
    make_folder(options.out);
    paths = write_curves(curves, job, options.out);
  }
  if (options.json) {
    std::cout << to_json(curves, job).text() << "\n";
    return kExitDone;
  }
  print_curves(curves, job, cluster.name, std::cout);
  for (const std::string& path : paths) std::cout << "  " << path << "\n";
  return kExitDone;
}

/// Prices the job on one cluster. Returns the price as JSON, and prints it as text unless JSON is requested.
Json price_and_print(const Options& options, const PriceConfig& config, const Job& job, const Cluster& cluster) {
  const analysis::ClusterPrice price = analysis::price_job(job, cluster, config.cost_model);
  if (!options.json) print_price(price, job, std::cout);
  if (std::isnan(config.target)) return to_json(price, job);
  const analysis::TargetSeconds target = analysis::seconds_to_target(config.target, job, price);
  if (!options.json) {
    const std::string after =
        std::string("after ") + (target.is_bound ? "at most " : "") + seconds_text(target.seconds);
    const char* const why = target.is_bound ? " (evaluations are too far apart to interpolate)" : "";
    std::cout << "held-out loss " << shortest(config.target) << ": "
              << (std::isnan(target.seconds) ? "never reached" : after + why) << "\n";
  }
  return to_json(price, job)
      .with("target_seconds", target.seconds)
      .with("target_is_bound", Json::boolean(target.is_bound));
}

/// Returns a text such as "a step is 37% shorter than dense Adam's at 27.9 Gb/s, the highest effective rate of a node's
/// network link at which that holds".
std::string shortening_text(double share, std::optional<netmodel::BytesPerSecond> rate, const std::string& links) {
  const std::string shorter = percent_text(share) + " shorter than dense Adam's at ";
  if (!rate)
    return "at no effective rate of " + links + " is a step " + percent_text(share) + " shorter than dense Adam's";
  if (*rate >= 0.999 * analysis::kFastestTried)
    return "a step is at least " + shorter + rate_text(*rate) + ", the highest effective rate of " + links +
           " that was tried";
  return "a step is " + shorter + rate_text(*rate) + ", the highest effective rate of " + links +
         " at which that holds";
}

/// Finds the rate of a node's network link at which a step is shorter by the requested share, and prints the price
/// there.
int find_rate(const Options& options, const PriceConfig& config, const Job& job, const Cluster& cluster) {
  require_method(job, "--sweep.shorter");
  const auto rate = analysis::rate_if_shorter(job, cluster, config.cost_model, config.shorter);
  if (!options.json) {
    const std::string links = links_text(cluster, netmodel::Fabric(cluster, job.workers).width());
    std::cout << shortening_text(config.shorter, rate, links) << (rate ? "; at that rate:\n\n" : "\n");
  }
  const double found = rate ? rate->value : PriceConfig::kNotGiven;
  Json json = Json::object({{"shorter", config.shorter}, {"bytes_per_second", found}});
  if (rate) {
    const Json price = price_and_print(options, config, job, analysis::with_rate(cluster, *rate));
    json = json.with("price", price);
  }
  if (options.json) std::cout << json.text() << "\n";
  return kExitDone;
}

int scale(const Options& options, const PriceConfig& config) {
  if (config.clusters.size() != 1 || config.workload.empty() || !options.arguments.empty())
    throw ConfigError("--sweep.nodes prices one workload on one cluster", "price",
                      "give --workload NAME --cluster NAME and no log");
  if (std::ranges::min(config.nodes) < 1)
    throw ConfigError("option out of range", "sweep.nodes " + std::to_string(std::ranges::min(config.nodes)),
                      "at least 1 node");
  const analysis::JobPlan plan = plan_of(options, config, make_config(options.run.settings));
  const Cluster cluster = load_cluster(config.clusters.front(), config.cluster_settings);
  const analysis::ScalingPrice scaling = analysis::sweep_nodes(plan, cluster, config.cost_model, config.nodes);
  if (options.json) {
    std::cout << to_json(scaling).text() << "\n";
  } else {
    print_scaling(scaling, method_text(plan.run.optimizer.name, *plan.rules.workload, plan.rules.hybrid), std::cout);
  }
  return kExitDone;
}

/// The runs that are priced: the run that the options describe, or one for each optimizer of a ranking.
struct PricedRuns {
  std::vector<GivenRun> runs;
  std::vector<std::pair<std::string, std::string>> refused;  ///< optimizers that the options do not fit, and why
};

PricedRuns priced_runs(const Options& options, const PriceConfig& config) {
  if (config.optimizers.empty()) return {{{make_config(options.run.settings)}}, {}};
  PricedRuns all;
  for (const std::string& name : ranked_optimizers(config)) {
    Settings settings = options.run.settings;
    const std::vector<std::string> parts = split(name, ':');
    settings.emplace_back("optimizer", parts.front());
    if (parts.size() > 1) settings.emplace_back("codec", name.substr(parts.front().size() + 1));
    try {
      all.runs.push_back({make_config(settings)});
    } catch (const ConfigError& error) {
      all.refused.emplace_back(name, error.what());
    }
  }
  return all;
}

/// Prints the optimizers on every cluster, the fastest first.
int rank_optimizers(const Options& options, const PriceConfig& config, const PricedRuns& priced) {
  if (config.workload.empty())
    throw ConfigError("nothing to price", "price", "give --workload NAME, see 'onebit list workloads'");
  std::vector<analysis::JobPlan> plans;
  for (const GivenRun& run : priced.runs) plans.push_back(plan_of(options, config, run.config));
  std::vector<Json> all;
  for (const Cluster& cluster : clusters_of(config)) {
    analysis::Ranking ranking = analysis::rank(plans, cluster, config.cost_model);
    ranking.refused.insert(ranking.refused.end(), priced.refused.begin(), priced.refused.end());
    if (!options.json && !all.empty()) std::cout << "\n";
    if (!options.json) print_ranking(ranking, std::cout);
    all.push_back(to_json(ranking));
  }
  if (options.json) std::cout << on_clusters(all).text() << "\n";
  return kExitDone;
}

/// Warns that the log of a replay does not record the batch.
void warn_of_replay(const Job& job) {
  if (!job.log || !analysis::is_replay(job.log->header)) return;
  warn(
      "the log of a replay does not record the batch: samples per second are computed as if each gradient had one "
      "sample");
}

/// Warns about options without effect. With a log or --calibrate, Use::check has already refused options of a run.
void warn_of_unpriced(const Options& options, const PriceConfig& config, const PricedRuns& priced) {
  std::vector<IdleOption> idle = idle_price_options(options.price, config);
  for (IdleOption& option : idle_options(given_options(options.run), priced.runs, unpriced_because)) {
    idle.push_back(std::move(option));
  }
  warn_of(idle);
}

int price(const Options& options) {
  const PriceConfig config = price_config_of(options.price);
  Use(options, config).check();
  const PricedRuns priced = priced_runs(options, config);
  if (!config.collective) warn_of_unpriced(options, config, priced);
  if (!config.calibrate.empty()) return calibrate(config, options.out, options.json);
  if (config.collective) return price_collective(config, given_workers(options), options.json);
  if (!config.nodes.empty()) return scale(options, config);
  if (!config.optimizers.empty()) return rank_optimizers(options, config, priced);
  std::vector<Json> all;
  std::optional<Job> job;
  for (const Cluster& cluster : clusters_of(config)) {
    const Index here = cluster.nodes * cluster.gpus_per_node;
    const bool first = !job;
    if (!job || (here > 0 && here != job->workers)) job = job_of(options, config, cluster);
    if (first) warn_of_replay(*job);
    if (!config.sweep.empty()) return sweep_rates(options, config, *job, cluster);
    if (!std::isnan(config.shorter)) return find_rate(options, config, *job, cluster);
    if (!config.goal.empty()) analysis::write_schedule(*job, cluster, config.cost_model, config.goal);
    if (!options.json && !all.empty()) std::cout << "\n";
    all.push_back(price_and_print(options, config, *job, cluster));
  }
  if (options.json) {
    std::cout << on_clusters(all).text() << "\n";
  }
  return kExitDone;
}

}  // namespace

Command price_command() {
  return make_command(
      {.name = "price",
       .usage = "[LOG.h5]",
       .doc = "estimate the time of a step on clusters, dense and compressed, and the bandwidth below "
              "which compression pays",
       .accepts = {.run = true, .of_run = is_priced, .price = Accepts::Price::all, .config = true},
       .help = {.common = {"workload", "cluster", "cluster.nodes", "workers", "batch", "optimizer", "codec",
                           "optimizers", "step.overlap", "step.sharding", "step.warmup-share", "sweep.bandwidth",
                           "sweep.nodes", "collective", "bytes", "target", "out", "json"},
                .examples = {"onebit price --workload bert-large --cluster eth10 --optimizers all",
                             "onebit price run.h5 --cluster eth1,ib100"}}},
      rows(), price);
}

}  // namespace onebit::experiments
