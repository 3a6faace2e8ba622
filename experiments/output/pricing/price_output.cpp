#include "experiments/output/pricing/price_output.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>

#include "analysis/pictures/plot.hpp"
#include "device/base/files.hpp"
#include "experiments/output/pricing/hybrid_output.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

using analysis::ClusterPrice;
using analysis::Job;
using analysis::ScalingPoint;
using analysis::SpeedupCurve;
using analysis::StagePrice;

/// Returns a text such as "4 GPUs per node".
std::string width_text(const SpeedupCurve& curve) {
  return std::to_string(curve.gpus_per_node) + (curve.gpus_per_node == 1 ? " GPU per node" : " GPUs per node");
}

std::string break_even_text(const ClusterPrice& price) {
  const std::string links = links_text(price.cluster, price.width);
  if (price.break_even) {
    return "faster if " + links + (price.faster_below ? " is below " : " is above ") + rate_text(*price.break_even);
  }
  return (price.always_faster ? "faster at any rate of " : "slower at any rate of ") + links;
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

/// Returns the number of a stage's steps that exchange something.
Index exchanges_in(const analysis::StageTraffic& stage) {
  Index steps = 0;
  for (const auto& kind : stage.kinds) {
    if (!kind.traffic.exchanges.empty()) steps += kind.count;
  }
  return steps;
}

/// Returns a text such as "40 steps: 20 warmup; 20 local, 5 of them with an exchange".
std::string schedule_text(const Job& job) {
  std::vector<std::string> stages;
  for (const analysis::StageTraffic& stage : job.stages) {
    const Index steps = stage.steps(), exchanges = exchanges_in(stage);
    stages.push_back(std::to_string(steps) + " " + stage.name);
    if (exchanges < steps) stages.back() += ", " + std::to_string(exchanges) + " of them with an exchange";
  }
  return std::to_string(job.schedule->steps) + " steps" +
         (job.schedule->assumed ? " (assumed, because --steps was not given)" : "") + ": " + join(stages, "; ");
}

Json schedule_json(const Job& job) {
  std::vector<Json> stages;
  for (const analysis::StageTraffic& stage : job.stages) {
    stages.push_back(
        Json::object({{"stage", stage.name}, {"steps", stage.steps()}, {"exchanges", exchanges_in(stage)}}));
  }
  return Json::object({{"steps", job.schedule->steps},
                       {"assumed", Json::boolean(job.schedule->assumed)},
                       {"stages", Json::array(stages)}});
}

/// Returns the table of a job's steps on a cluster, one stage per column: dense Adam; then the last stage, which has
/// most of the steps and which a narrow terminal must show; then the stages before it.
Table steps_table(const ClusterPrice& price, const Job& job) {
  std::vector<StagePrice> columns = price.stages;
  std::rotate(columns.begin(), columns.end() - 1, columns.end());
  const bool compares = !analysis::is_dense_adam(job);
  if (compares) columns.insert(columns.begin(), price.dense);
  std::vector<std::string> header = {"seconds per step"};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool dense = compares && i == 0;
    header.push_back(dense ? "adam" : method_text(job) + ", " + columns[i].stage);
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
  return table;
}

/// Prints samples per second, and the efficiency: the rate of a GPU relative to its rate on the fewest nodes.
void print_scaling(const std::string& title, const std::vector<ScalingPoint>& points, const std::string& optimizer,
                   std::ostream& out) {
  out << title << "\n\n";
  Table table({"nodes", "GPUs", "batch", "adam samples/s", "efficiency", optimizer + " samples/s", "efficiency "});
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
  table.print(out);
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

}  // namespace

std::string links_text(const netmodel::Cluster& cluster, Index width) {
  const Index links = netmodel::network_links(cluster, width);
  if (links == 1) return "a node's network link";
  return "each of a node's " + std::to_string(links) + " network links";
}

std::string rate_text(netmodel::BytesPerSecond rate) {
  const double gigabits = 8 * rate.value / 1e9;
  return gigabits < 1 ? number(1e3 * gigabits, 4) + " Mb/s" : number(gigabits, 4) + " Gb/s";
}

std::string memory_text(const netmodel::MemoryEstimate& memory) {
  std::vector<std::string> parts;
  const auto part = [&](const std::string& name, netmodel::Bytes bytes) {
    if (bytes.value > 0) parts.push_back(name + " " + bytes_text(bytes.value));
  };
  part("weights", memory.weights);
  part("gradients", memory.gradients);
  part("optimizer", memory.optimizer);
  part("error feedback", memory.errors);
  part("inputs of the layers", memory.activations);
  part("embedding tables", memory.tables);
  return "at least " + bytes_text(memory.total().value) + (memory.fits() ? " of " : ", which does not fit in ") +
         bytes_text(memory.capacity.value) + " (" + join(parts, ", ") + ")";
}

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
  if (job.schedule) json = json.with("schedule", schedule_json(job));
  if (price.memory) {
    json = json.with("memory_bytes", price.memory->total().value)
               .with("memory_capacity_bytes", price.memory->capacity.value)
               .with("fits", Json::boolean(price.memory->fits()));
  }
  if (price.hybrid) {
    json = json.with("tables", std::string(name(job.rules.hybrid.split)))
               .with("boundary", job.rules.hybrid.codec)
               .with("hybrid", hybrid_json(*price.hybrid))
               .with("dense_hybrid", hybrid_json(*price.dense_hybrid));
  }
  if (analysis::has_boundary(job)) json = json.with("boundary_of_log", Json::boolean(true));
  if (price.timeline) json = json.with("run_seconds", price.timeline->at(job.log->summary.steps));
  return json.with("break_even_bytes_per_second", price.break_even ? price.break_even->value : sim::not_applicable);
}

Json on_clusters(const std::vector<Json>& prices) {
  return prices.size() == 1 ? prices.front() : Json::object({{"clusters", Json::array(prices)}});
}

std::string cluster_text(const netmodel::Cluster& cluster, Index nodes, Index width) {
  std::ostringstream text;
  text << cluster.name << ": " << cluster.doc << " (" << netmodel::name(cluster.source) << ")\n"
       << nodes << (nodes == 1 ? " node x " : " nodes x ") << width << (width == 1 ? " GPU" : " GPUs");
  return text.str();
}

void print_price(const ClusterPrice& price, const Job& job, std::ostream& out) {
  const netmodel::Cluster& cluster = price.cluster;
  print_paragraphs(out, cluster_text(cluster, price.nodes, price.width) + " (" + cluster.gpu + "), " + job.name +
                            (price.basis.empty() ? "" : " (times: " + price.basis + ")") + ", batch " +
                            std::to_string(job.batch) + " x " + std::to_string(job.accumulation));
  out << "\n";
  steps_table(price, job).print(out);
  const netmodel::StepEstimate& last = price.stages.back().step;
  if (price.hybrid) print_hybrid(price, job, out);
  out << "\n";
  std::ostringstream text;
  if (job.schedule) text << "schedule: " << schedule_text(job) << "\n";
  if (price.memory) text << "memory of a GPU: " << memory_text(*price.memory) << "\n";
  text << "bottleneck: " << netmodel::text(last.exchange.bottleneck) << "; algorithm: " << last.reason << "\n";
  if (analysis::has_boundary(job)) {
    text << "boundary: all columns include the exchanges at the boundary that the log records, but neither what a "
            "codec saves there nor the time that it takes\n";
  }
  if (analysis::is_dense_adam(job)) return print_paragraphs(out, text.str());
  text << "speed-up over dense adam: " << ratio_text(price.speedup);
  if (price.stages.size() > 1) {
    text << " in the last stage; " << ratio_text(price.end_to_end_speedup) << " for a whole run, with "
         << percent_text(job.warmup_share) << " of its steps before that stage";
  }
  text << "\nbreak-even: the last stage is " << break_even_text(price)
       << " (effective rate here: " << rate_text(cluster.nic.effective) << ")\n";
  print_paragraphs(out, text.str());
}

void print_curves(const std::vector<SpeedupCurve>& curves, const Job& job, const std::string& cluster,
                  std::ostream& out) {
  print_paragraph(out, "speed-up of " + method_text(job) + " over dense Adam, " + job.name + ", " +
                           std::to_string(job.workers) + " GPUs, " + cluster + " at other rates");
  out << "\n";
  std::vector<std::string> header = {"network link of a node"}, even = {"break-even"};
  for (const SpeedupCurve& curve : curves) {
    header.push_back(width_text(curve));
    even.push_back(curve.break_even ? rate_text(*curve.break_even) : "none");
  }
  Table table(header);
  for (std::size_t i = 0; i < curves.front().rates.size(); ++i) {
    std::vector<std::string> row = {rate_text(netmodel::BytesPerSecond(curves.front().rates[i]))};
    for (const SpeedupCurve& curve : curves) row.push_back(ratio_text(curve.speedups[i]));
    table.add(row);
  }
  table.add(even);
  table.print(out);
}

Json to_json(const std::vector<SpeedupCurve>& curves, const Job& job) {
  std::vector<Json> items;
  for (const SpeedupCurve& curve : curves) {
    items.push_back(Json::object(
        {{"gpus_per_node", curve.gpus_per_node},
         {"bytes_per_second", Json::array({curve.rates.begin(), curve.rates.end()})},
         {"speedup", Json::array({curve.speedups.begin(), curve.speedups.end()})},
         {"break_even_bytes_per_second", curve.break_even ? curve.break_even->value : sim::not_applicable}}));
  }
  return Json::object({{"workload", job.name}, {"curves", Json::array(items)}});
}

std::vector<std::string> write_curves(const std::vector<SpeedupCurve>& curves, const Job& job,
                                      const std::string& folder) {
  const std::string table = folder + "/speedup.csv";
  std::ostringstream file;
  file << "gpus_per_node,bytes_per_second,speedup\n";
  analysis::Plot plot{.title = "Speed-up of " + method_text(job) + " over Adam, " + job.name + ", " +
                               std::to_string(job.workers) + " GPUs",
                      .x_label = "effective rate of a node's network link",
                      .y_label = "steps per second, relative to dense Adam",
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
      line.label += ", break-even at " + rate_text(*curve.break_even);
    }
    plot.curves.push_back(line);
  }
  files::write(table, file.str());
  std::vector<std::string> paths = analysis::draw(plot, folder + "/speedup");
  paths.insert(paths.begin(), table);
  return paths;
}

void print_scaling(const analysis::ScalingPrice& scaling, const std::string& optimizer, std::ostream& out) {
  print_scaling("weak scaling: fixed batch per GPU", scaling.weak, optimizer, out);
  out << "\n";
  print_scaling("strong scaling: fixed samples per step", scaling.strong, optimizer, out);
}

Json to_json(const analysis::ScalingPrice& scaling) {
  return Json::object({{"weak", to_json(scaling.weak)}, {"strong", to_json(scaling.strong)}});
}

}  // namespace onebit::experiments
