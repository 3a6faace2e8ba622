#include "experiments/study/price_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>

#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"
#include "experiments/cli/session.hpp"
#include "experiments/commands/commands.hpp"
#include "experiments/options/idle_options.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {
namespace {

std::string break_even_text(const ClusterPrice& price) {
  if (price.break_even) return "faster below " + rate_text(*price.break_even) + " of a node's network link";
  return price.always_faster ? "faster at any rate of the network link" : "slower at any rate of the network link";
}

/// Returns the number of workers if it was given, else 0: its default is meant for runs.
Index workers_given(const CommandLine& line, const sim::RunConfig& run) {
  const bool given =
      std::any_of(line.run.begin(), line.run.end(), [](const auto& setting) { return setting.first == "workers"; });
  return given ? run.workers : 0;
}

/// Makes the job of a log, if one is given, else of a workload.
Job job_of(const CommandLine& line, const PriceConfig& config, const netmodel::Cluster& cluster) {
  if (line.arguments.size() > 1) throw ConfigError("unexpected argument", line.arguments[1], "one log at a time");
  if (line.arguments.empty() && config.workload.empty()) {
    throw ConfigError("nothing to price", "price", "a log, or --workload NAME, see 'onebit list workloads'");
  }
  if (line.arguments.empty() && !std::isnan(config.target)) {
    throw ConfigError("a target loss without a log", "target", "onebit price LOG.h5 --target LOSS");
  }
  if (!line.arguments.empty()) return job_of_log(line.arguments.front(), config);
  const sim::RunConfig run = make_config(line.run);
  return plan_job(config, run, workers_given(line, run), cluster);
}

std::vector<std::pair<std::string, Json>> members_of(const StagePrice& price) {
  const netmodel::StepEstimate& step = price.step;
  return {{"stage", price.stage},
          {"step_seconds", step.step.value},
          {"forward_seconds", step.forward.value},
          {"backward_seconds", step.backward.value},
          {"communication_seconds", step.communication.value},
          {"hidden_communication_seconds", (step.all_communication - step.communication).value},
          {"codec_seconds", step.codec.value},
          {"optimizer_seconds", step.optimizer.value},
          {"samples_per_second", price.samples_per_second},
          {"nic_bytes_per_node", step.exchange.nic_bytes.value},
          {"algorithm", step.algorithm},
          {"reason", step.reason},
          {"bottleneck", netmodel::text(step.exchange.bottleneck)}};
}

/// Returns an object whose members describe the last stage; the other stages are an array in it.
Json to_json(const ClusterPrice& price, const Job& job) {
  std::vector<Json> stages;
  for (const StagePrice& stage : price.stages) stages.push_back(Json::object(members_of(stage)));
  Json json = Json::object(members_of(price.stages.back()));
  json = json.with("cluster", price.cluster.name)
             .with("source", std::string(netmodel::name(price.cluster.source)))
             .with("nodes", price.nodes)
             .with("gpus_per_node", price.width)
             .with("workload", job.name)
             .with("workers", job.workers)
             .with("times", price.basis)
             .with("parameters", job.workload.parameters)
             .with("optimizer", job.optimizer)
             .with("batch", job.batch)
             .with("accumulation", job.accumulation)
             .with("stages", Json::array(stages))
             .with("dense", Json::object(members_of(price.dense)))
             .with("speedup", price.speedup)
             .with("end_to_end_speedup", price.end_to_end_speedup)
             .with("extended", Json::array({price.extended.begin(), price.extended.end()}));
  if (price.timeline) json = json.with("run_seconds", price.timeline->at(job.log->summary.steps));
  return json.with("break_even_bytes_per_second", price.break_even ? price.break_even->value : PriceConfig::kNotGiven);
}

void print_cluster(const ClusterPrice& price, const Job& job) {
  const netmodel::Cluster& cluster = price.cluster;
  std::cout << cluster.name << ": " << cluster.doc << " (" << netmodel::name(cluster.source) << ")\n"
            << price.nodes << " nodes x " << price.width << " GPUs (" << cluster.gpu << "), " << job.name
            << (price.basis.empty() ? "" : " (times: " + price.basis + ")") << ", batch " << job.batch << " x "
            << job.accumulation << "\n\n";
  std::vector<StagePrice> columns = price.stages;
  if (job.optimizer != "adam") columns.insert(columns.begin(), price.dense);
  std::vector<std::string> header = {"seconds per step"};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool dense = job.optimizer != "adam" && i == 0;
    header.push_back(dense ? "adam" : job.optimizer + ", " + columns[i].stage);
  }
  Table table(header);
  const auto row = [&](const std::string& name, const auto& text) {
    std::vector<std::string> cells = {name};
    for (const StagePrice& column : columns) cells.push_back(text(column));
    table.add(cells);
  };
  const auto seconds = [&](const std::string& name, const auto& part) {
    row(name, [&](const StagePrice& column) { return seconds_text(part(column.step).value); });
  };
  using Step = netmodel::StepEstimate;
  seconds("forward", [](const Step& step) { return step.forward; });
  seconds("backward", [](const Step& step) { return step.backward; });
  seconds("communication", [](const Step& step) { return step.communication; });
  seconds("  hidden", [](const Step& step) { return step.all_communication - step.communication; });
  seconds("codec", [](const Step& step) { return step.codec; });
  seconds("optimizer", [](const Step& step) { return step.optimizer; });
  seconds("step", [](const Step& step) { return step.step; });
  row("samples per second", [](const StagePrice& column) { return number(column.samples_per_second); });
  row("bytes per node's network link", [](const StagePrice& c) { return bytes_text(c.step.exchange.nic_bytes.value); });
  row("algorithm", [](const StagePrice& column) { return column.step.algorithm; });
  table.print(std::cout);
  const Step& last = price.stages.back().step;
  std::cout << "\nwaits for: " << netmodel::text(last.exchange.bottleneck) << "; algorithm: " << last.reason << "\n";
  if (job.optimizer == "adam") return;
  std::cout << "speed-up over dense adam: " << ratio_text(price.speedup);
  if (price.stages.size() > 1) {
    std::cout << " in the last stage, " << ratio_text(price.end_to_end_speedup) << " over a run with "
              << percent_text(job.warmup_share) << " of its steps before it";
  }
  std::cout << "\nbreak-even: " << break_even_text(price) << " (here " << rate_text(cluster.nic.effective)
            << ", as collectives get it)\n";
}

/// Checks options: what `price` is to do decides which of them have an effect.
class Use {
 public:
  Use(const CommandLine& line, const PriceConfig& config) : line_(line), config_(config) {}

  /// Throws ConfigError for an option without effect, an existing output, and a missing folder.
  void check() const {
    const bool sweeps = !config_.sweep.empty(), calibrates = !config_.calibrate.empty();
    if (calibrates) check_calibration();
    if (!config_.nodes.empty()) not_with("--sweep.nodes", {"goal", "target", "sweep.bandwidth", "sweep.gpus-per-node"});
    if (sweeps) not_with("--sweep.bandwidth", {"goal", "target"});
    if (!sweeps && !config_.widths.empty()) refuse("sweep.gpus-per-node", "it goes with --sweep.bandwidth");
    if (!sweeps && !calibrates && !line_.out.empty()) refuse("out", "it goes with --sweep.bandwidth or --calibrate");
    if (!line_.arguments.empty()) {
      not_with("a log", {"step.parameters", "step.warmup-share", "sweep.nodes"});
      if (!line_.run.empty()) refuse(line_.run.front().first, "a log has its own");
    }
    if ((sweeps || !config_.goal.empty()) && config_.clusters.size() != 1) {
      throw ConfigError("a sweep or a schedule is of one cluster", "price", "--cluster NAME");
    }
    check_output(config_.goal);
    if (calibrates) check_output(line_.out);
    if (sweeps && !line_.out.empty()) check_free(line_.out + "/speedup.csv");
  }

 private:
  [[noreturn]] static void refuse(const std::string& option, const std::string& why) {
    throw ConfigError("an option that is not used", "--" + option, why);
  }

  void not_with(const std::string& mode, const std::vector<std::string>& others) const {
    for (const auto& [name, value] : line_.price) {
      if (std::find(others.begin(), others.end(), name) != others.end()) refuse(name, "not with " + mode);
    }
  }

  void check_calibration() const {
    for (const auto& [name, value] : line_.price) {
      if (name != "calibrate" && !name.starts_with("cluster")) refuse(name, "not with --calibrate");
    }
    if (!line_.run.empty()) refuse(line_.run.front().first, "not with --calibrate");
    if (!line_.arguments.empty())
      throw ConfigError("unexpected argument", line_.arguments.front(), "not with --calibrate");
  }

  static void check_free(const std::string& output) { files::check_output(output, false, "give another name"); }
  static void check_output(const std::string& output) {
    if (output.empty()) return;
    check_free(output);
    const std::filesystem::path folder = std::filesystem::path(output).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder)) throw ConfigError("no such folder", folder.string());
  }

  const CommandLine& line_;
  const PriceConfig& config_;
};

/// Prints the table and, if a folder is given, writes the file and the picture.
void print_sweep(const CommandLine& line, const PriceConfig& config, const Job& job, const netmodel::Cluster& cluster) {
  const std::vector<SpeedupCurve> curves = sweep_bandwidth(job, cluster, config);
  std::vector<std::string> paths;
  if (!line.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(line.out, error);
    if (error) throw ConfigError("cannot create output folder", line.out, error.message());
    paths = write_sweep(curves, job, line.out);
  }
  std::vector<Json> items;
  std::vector<std::string> header = {"network link of a node"}, even = {"break-even"};
  for (const SpeedupCurve& curve : curves) {
    header.push_back(width_text(curve));
    even.push_back(curve.break_even ? rate_text(*curve.break_even) : "none");
    items.push_back(Json::object(
        {{"gpus_per_node", curve.gpus_per_node},
         {"bytes_per_second", Json::array({curve.rates.begin(), curve.rates.end()})},
         {"speedup", Json::array({curve.speedups.begin(), curve.speedups.end()})},
         {"break_even_bytes_per_second", curve.break_even ? curve.break_even->value : PriceConfig::kNotGiven}}));
  }
  if (line.json) {
    std::cout << Json::object({{"workload", job.name}, {"curves", Json::array(items)}}).text() << "\n";
    return;
  }
  std::cout << "speed-up of " << job.optimizer << " over dense Adam, " << job.name << ", " << job.workers << " GPUs, "
            << cluster.name << " at other rates\n\n";
  Table table(header);
  for (std::size_t i = 0; i < curves.front().rates.size(); ++i) {
    std::vector<std::string> row = {rate_text(netmodel::BytesPerSecond(curves.front().rates[i]))};
    for (const SpeedupCurve& curve : curves) row.push_back(ratio_text(curve.speedups[i]));
    table.add(row);
  }
  table.add(even);
  table.print(std::cout);
  for (const std::string& path : paths) std::cout << "  " << path << "\n";
}

/// Prints samples per second, and the share of its rate on the fewest nodes that a GPU keeps.
void print_scaling(const std::string& title, const std::vector<ScalingPoint>& points, const std::string& optimizer) {
  std::cout << title << "\n\n";
  Table table({"nodes", "GPUs", "batch", "adam samples/s", "a GPU keeps", optimizer + " samples/s", "a GPU keeps "});
  const auto fewest =
      std::min_element(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.nodes < b.nodes; });
  const auto kept = [&](const ScalingPoint& point, double ScalingPoint::*rate) {
    return percent_text(point.*rate / static_cast<double>(point.workers) /
                        (*fewest.*rate / static_cast<double>(fewest->workers)));
  };
  for (const ScalingPoint& point : points) {
    table.add({std::to_string(point.nodes), std::to_string(point.workers), std::to_string(point.batch),
               number(point.dense), kept(point, &ScalingPoint::dense), number(point.last),
               kept(point, &ScalingPoint::last)});
  }
  table.print(std::cout);
}

Json to_json(const std::vector<ScalingPoint>& points) {
  std::vector<Json> items;
  for (const ScalingPoint& point : points) {
    items.push_back(Json::object({{"nodes", point.nodes},
                                  {"workers", point.workers},
                                  {"batch", point.batch},
                                  {"dense_samples_per_second", point.dense},
                                  {"samples_per_second", point.last}}));
  }
  return Json::array(items);
}

int scaling_command(const CommandLine& line, const PriceConfig& config) {
  if (config.clusters.size() != 1 || config.workload.empty() || !line.arguments.empty()) {
    throw ConfigError("scaling is of one workload on one cluster", "sweep.nodes", "--workload NAME --cluster NAME");
  }
  const sim::RunConfig run = make_config(line.run);
  const netmodel::Cluster cluster = load_cluster(config.clusters.front(), config.cluster_settings);
  const ScalingPrice scaling = sweep_nodes(config, run, cluster);
  if (line.json) {
    std::cout << Json::object({{"weak", to_json(scaling.weak)}, {"strong", to_json(scaling.strong)}}).text() << "\n";
    return kExitDone;
  }
  print_scaling("weak scaling: every GPU keeps its batch", scaling.weak, run.optimizer.name);
  std::cout << "\n";
  print_scaling("strong scaling: a step keeps its samples", scaling.strong, run.optimizer.name);
  return kExitDone;
}

/// Prices one cluster. Returns the price as JSON, and prints it as text unless JSON is requested.
Json price_and_print(const CommandLine& line, const PriceConfig& config, const Job& job,
                     const netmodel::Cluster& cluster) {
  const ClusterPrice price = price_job(job, cluster, config);
  if (!line.json) print_cluster(price, job);
  if (std::isnan(config.target)) return to_json(price, job);
  const std::optional<double> target = seconds_to_target(config.target, job, price);
  if (!line.json) {
    std::cout << "held-out loss " << shortest(config.target) << ": "
              << (target ? "after " + seconds_text(*target) : "never reached") << "\n";
  }
  return to_json(price, job).with("target_seconds", target.value_or(PriceConfig::kNotGiven));
}

/// Warns of options without effect. A log and a calibration take no options of a run: they are refused.
void warn_of_unpriced(const CommandLine& line, const PriceConfig& config) {
  std::vector<IdleOption> idle = idle_price_options(line.price, config);
  for (IdleOption& option : idle_options(given_options(line), {{make_config(line.run)}}, unpriced_because)) {
    idle.push_back(std::move(option));
  }
  warn_of(idle);
}

}  // namespace

int price_command(const CommandLine& line) {
  const PriceConfig config = make_price_config(line.price);
  Use(line, config).check();
  warn_of_unpriced(line, config);
  if (!config.calibrate.empty()) return calibrate_command(line);
  if (!config.nodes.empty()) return scaling_command(line, config);
  std::vector<Json> all;
  std::optional<Job> job;
  for (const std::string& name : config.clusters) {
    const netmodel::Cluster cluster = load_cluster(name, config.cluster_settings);
    const Index here = cluster.nodes * cluster.gpus_per_node;
    if (!job || (here > 0 && here != job->workers)) job = job_of(line, config, cluster);
    if (!config.sweep.empty()) {
      print_sweep(line, config, *job, cluster);
      return kExitDone;
    }
    if (!config.goal.empty()) write_schedule(*job, cluster, config, config.goal);
    if (!line.json && !all.empty()) std::cout << "\n";
    all.push_back(price_and_print(line, config, *job, cluster));
  }
  if (line.json) {
    std::cout << (all.size() == 1 ? all.front() : Json::object({{"clusters", Json::array(all)}})).text() << "\n";
  }
  return kExitDone;
}

}  // namespace onebit::experiments
