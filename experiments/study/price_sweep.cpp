#include "experiments/study/price_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "analysis/pictures/plot.hpp"
#include "device/base/error.hpp"
#include "device/base/files.hpp"
#include "device/base/text.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kRange = "LOW:HIGH:COUNT, e.g. 50Mb/s:400Gb/s:40";

std::vector<double> rates_of(const std::string& range) {
  const std::vector<std::string> parts = split(range, ':');
  if (parts.size() != 3) throw ConfigError("malformed option value", "sweep.bandwidth '" + range + "'", kRange);
  const double low = parse_rate("sweep.bandwidth", parts[0]), high = parse_rate("sweep.bandwidth", parts[1]);
  const Index count = parse_integer("sweep.bandwidth", parts[2]);
  if (!(low > 0 && high > low && high <= 1e12) || count < 2 || count > 10000) {
    throw ConfigError("option out of range", "sweep.bandwidth " + range, kRange);
  }
  std::vector<double> rates;
  for (Index i = 0; i < count; ++i) {
    rates.push_back(low * std::pow(high / low, static_cast<double>(i) / static_cast<double>(count - 1)));
  }
  return rates;
}

SpeedupCurve curve_of(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config,
                      const std::vector<double>& rates) {
  SpeedupCurve curve;
  curve.gpus_per_node = cluster.gpus_per_node;
  curve.break_even = price_job(job, cluster, config).break_even;
  const auto model = netmodel::make_cost_model(config.cost_model);
  for (const double rate : rates) {
    curve.rates.push_back(rate);
    curve.speedups.push_back(speedup_at(job, with_rate(cluster, netmodel::BytesPerSecond(rate)), *model));
  }
  return curve;
}

}  // namespace

std::vector<SpeedupCurve> sweep_bandwidth(const Job& job, const netmodel::Cluster& cluster, const PriceConfig& config) {
  const std::vector<double> rates = rates_of(config.sweep);
  if (config.widths.empty()) return {curve_of(job, cluster, config, rates)};
  std::vector<SpeedupCurve> curves;
  for (const std::string& width : config.widths) {
    netmodel::Cluster other = cluster;
    other.nodes = 0;
    other.gpus_per_node = parse_integer("sweep.gpus-per-node", width);
    curves.push_back(curve_of(job, other, config, rates));
  }
  return curves;
}

std::string width_text(const SpeedupCurve& curve) {
  return std::to_string(curve.gpus_per_node) + (curve.gpus_per_node == 1 ? " GPU a node" : " GPUs a node");
}

std::vector<std::string> write_sweep(const std::vector<SpeedupCurve>& curves, const Job& job,
                                     const std::string& folder) {
  const std::string table = folder + "/speedup.csv";
  std::ostringstream file;
  file << "gpus_per_node,bytes_per_second,speedup\n";
  analysis::Plot plot{.title = "Speed-up of " + job.optimizer + " over Adam, " + job.name + ", " +
                               std::to_string(job.workers) + " GPUs",
                      .x_label = "rate of a node's network link, as collectives get it",
                      .y_label = "steps per second / those of dense Adam",
                      .log_x = true,
                      .x_unit = "b/s",
                      .legend = "center left",
                      .curves = {}};
  for (const SpeedupCurve& curve : curves) {
    analysis::Curve line{.label = width_text(curve), .x = {}, .y = curve.speedups};
    for (std::size_t i = 0; i < curve.rates.size(); ++i) {
      file << curve.gpus_per_node << "," << shortest(curve.rates[i]) << "," << shortest(curve.speedups[i]) << "\n";
      line.x.push_back(8 * curve.rates[i]);
    }
    if (curve.break_even) {
      line.mark_x = 8 * curve.break_even->value;
      line.label += ", even at " + rate_text(*curve.break_even);
    }
    plot.curves.push_back(line);
  }
  files::write(table, file.str());
  std::vector<std::string> paths = analysis::draw(plot, folder + "/speedup");
  paths.insert(paths.begin(), table);
  return paths;
}

ScalingPrice sweep_nodes(const PriceConfig& config, const sim::RunConfig& run, const netmodel::Cluster& cluster) {
  std::vector<Index> counts;
  for (const std::string& text : config.nodes) {
    counts.push_back(parse_integer("sweep.nodes", text));
    if (counts.back() < 1) throw ConfigError("option out of range", "sweep.nodes " + text, "numbers from 1");
  }
  const Index fewest = *std::min_element(counts.begin(), counts.end());
  ScalingPrice scaling;
  for (const Index nodes : counts) {
    netmodel::Cluster sized = cluster;
    sized.nodes = nodes;
    Job job = plan_job(config, run, 0, sized);
    const auto point = [&](Index batch) {
      job.batch = batch;
      const ClusterPrice price = price_job(job, sized, config);
      return ScalingPoint{nodes, job.workers, batch, price.dense.samples_per_second,
                          price.stages.back().samples_per_second};
    };
    scaling.weak.push_back(point(run.batch));
    const bool divides = run.batch * fewest % nodes == 0;
    const ScalingPoint none{nodes, job.workers, 0, PriceConfig::kNotGiven, PriceConfig::kNotGiven};
    scaling.strong.push_back(divides ? point(run.batch * fewest / nodes) : none);
  }
  return scaling;
}

}  // namespace onebit::experiments
