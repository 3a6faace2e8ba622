#include "experiments/report/clusters.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/output/comparison_output.hpp"
#include "experiments/output/pricing/price_output.hpp"
#include "netmodel/cluster/fabric.hpp"

namespace onebit::experiments {
namespace {

struct Part {
  std::string name;
  double seconds;
};

/// Returns the parts of a step, in the order of the table. Hidden communication does not count.
std::vector<Part> parts_of(const netmodel::StepEstimate& step) {
  const netmodel::Seconds all = step.exchange.latency + step.exchange.bandwidth;
  const double latency = all.value > 0 ? step.exchange.latency / all : 0;
  return {{"computing", (step.forward + step.backward).value},
          {"latency", latency * step.communication.value},
          {"sending", (1 - latency) * step.communication.value},
          {"coding", step.codec.value},
          {"update", step.optimizer.value}};
}

/// Returns the mean step of an arm's first run that finished, or of its first run, on a cluster.
const netmodel::StepEstimate& step_of(const analysis::ArmFigures& arm, std::size_t cluster) {
  return analysis::example_times(arm).steps[cluster];
}

/// Returns "1.08 ms (latency 88%, sending 9%, computing 3%)", the largest part first, without those below 1%.
std::string step_text(const netmodel::StepEstimate& step) {
  std::vector<Part> parts = parts_of(step);
  std::ranges::stable_sort(parts, std::ranges::greater(), &Part::seconds);
  std::vector<std::string> words;
  for (const Part& part : parts) {
    const double share = part.seconds / step.step.value;
    if (share >= 0.01) words.push_back(part.name + " " + std::to_string(std::llround(100 * share)) + "%");
  }
  return seconds_text(step.step.value) + " (" + join(words, ", ") + ")";
}

/// Returns the part of an arm's step that grew most against its baseline's; `seconds` is the growth.
Part most_grown(const analysis::ArmFigures& arm, const analysis::ArmFigures& baseline, std::size_t cluster) {
  std::vector<Part> growth = parts_of(step_of(arm, cluster));
  const std::vector<Part> before = parts_of(step_of(baseline, cluster));
  for (std::size_t i = 0; i < growth.size(); ++i) growth[i].seconds -= before[i].seconds;
  return *std::ranges::max_element(growth, {}, &Part::seconds);
}

/// Returns the shown arms that have a step; an arm whose runs all failed before their first step has none.
/// Precondition: there are clusters.
std::vector<const analysis::ArmFigures*> shown_arms(const Report& report) {
  std::vector<const analysis::ArmFigures*> arms;
  for (const analysis::ArmFigures& arm : report.comparison.arms) {
    if (report.shows(arm.name) && step_of(arm, 0).step.value > 0) arms.push_back(&arm);
  }
  return arms;
}

/// Returns "4 nodes x 1 GPU (a100)"; without numbers if the arms have different numbers of workers.
std::string nodes_text(const Report& report, const netmodel::Cluster& cluster) {
  std::set<Index> workers;
  for (const analysis::Arm& arm : report.arms) {
    for (const analysis::Run& run : arm.runs) workers.insert(run.summary.workers);
  }
  const std::string gpu = " (" + cluster.gpu + ")";
  if (workers.size() != 1) return "as many GPUs" + gpu + " as an arm has workers";
  const netmodel::Fabric fabric(cluster, *workers.begin());
  return std::to_string(fabric.nodes()) + (fabric.nodes() == 1 ? " node x " : " nodes x ") +
         std::to_string(fabric.width()) + (fabric.width() == 1 ? " GPU" : " GPUs") + gpu;
}

/// Returns the time of a part of a step. The model is not accurate to less than a tenth of a microsecond.
std::string part_text(double seconds) {
  constexpr double least = 1e-7;
  return seconds > 0 && seconds < least ? "< 0.1 us" : seconds_text(seconds);
}

}  // namespace

std::string described(const netmodel::Cluster& cluster) {
  const std::string rate = rate_text(cluster.nic.effective) + " links";
  const std::span<const netmodel::Cluster> presets = netmodel::clusters();
  const auto preset = std::ranges::find(presets, cluster.name, &netmodel::Cluster::name);
  const bool changed = preset != presets.end() && preset->nic.effective.value != cluster.nic.effective.value;
  return cluster.name + ": " + (changed || cluster.doc.empty() ? rate : cluster.doc);
}

std::vector<std::string> cluster_lines(const Report& report) {
  std::vector<std::string> lines;
  for (const netmodel::Cluster& cluster : report.comparison.clusters) {
    std::string line = cluster.name + ": ";
    if (!cluster.doc.empty()) line.append(cluster.doc).append("; ");
    line.append("here ").append(nodes_text(report, cluster));
    line.append("; a network link carries ").append(rate_text(cluster.nic.effective));
    line.append("; a message has a latency of ").append(seconds_text(cluster.nic.latency.value));
    line.append(" with NCCL's protocol \"Simple\", and less if it is small");
    lines.push_back(line.append(" (").append(netmodel::name(cluster.source)).append(")."));
  }
  return lines;
}

std::string parts_line(const Report& report) {
  if (report.comparison.clusters.empty()) return "";
  std::vector<std::pair<std::string, std::vector<std::string>>> steps;  // text, arms
  for (const analysis::ArmFigures* arm : shown_arms(report)) {
    const std::string text = step_text(step_of(*arm, 0));
    auto same = std::ranges::find(steps, text, &std::pair<std::string, std::vector<std::string>>::first);
    if (same == steps.end()) same = steps.insert(same, {text, {}});
    same->second.push_back(arm->name + outcome_remark(*arm));
  }
  if (steps.empty()) return "";
  const bool exchanges = std::ranges::any_of(
      shown_arms(report), [](const analysis::ArmFigures* arm) { return step_of(*arm, 0).communication.value > 0; });
  std::vector<std::string> words;
  for (const auto& [text, arms] : steps) words.push_back(join(arms, " and ").append(": ").append(text));
  return "Time of a step on " + report.comparison.clusters.front().name + ": " + join(words, "; ") +
         (exchanges
              ? ". Fewer bytes mainly reduce the sending time, which includes the time for the first piece of a vector "
                "to pass through all hops. The latency depends on the number of messages and, less, on their size."
              : ".");
}

std::string run_times_text(const analysis::ArmFigures& arm) {
  if (arm.seconds.empty() || !(step_of(arm, 0).step.value > 0)) return "";
  const auto text_on = [&](const analysis::ClusterSeconds& time) {
    const netmodel::StepEstimate& step = step_of(arm, static_cast<std::size_t>(&time - arm.seconds.data()));
    return seconds_text(time.seconds.mean) + " on " + time.cluster + " (communication " +
           percent_text(std::round(100 * (step.communication / step.step)) / 100) + ")";
  };
  const auto [least, most] =
      std::ranges::minmax_element(arm.seconds, {}, [](const auto& time) { return time.seconds.mean; });
  const std::string text = "The run takes an estimated " + text_on(*most);
  return least == most ? text : text + " and " + text_on(*least);
}

bool grows_by_messages(const analysis::ArmFigures& arm, const analysis::ArmFigures& baseline, std::size_t cluster) {
  const Part most = most_grown(arm, baseline, cluster);
  return most.name == "latency" && most.seconds > 0 && arm.step_messages.mean > baseline.step_messages.mean;
}

std::string grown_part(const analysis::ArmFigures& arm, const analysis::ArmFigures& baseline, std::size_t cluster) {
  const Part most = most_grown(arm, baseline, cluster);
  if (!(most.seconds > 0)) return "";
  const std::string text = most.name + ": " + seconds_text(most.seconds) + " more in a step";
  if (!grows_by_messages(arm, baseline, cluster)) {
    return text + (most.name == "latency"
                       ? ", although it does not send more messages: its collectives or their protocols differ"
                       : "");
  }
  return text + ", in which a worker sends " + number(arm.step_messages.mean, 3) + " messages on average instead of " +
         number(baseline.step_messages.mean, 3);
}

Table parts_table(const Report& report) {
  Table table({"parts of a mean step", "computing", "latency", "sending", "coding", "update", "total"});
  for (std::size_t c = 0; c < report.comparison.clusters.size(); ++c) {
    table.add({"on " + report.comparison.clusters[c].name});
    for (const analysis::ArmFigures* arm : shown_arms(report)) {
      const netmodel::StepEstimate& step = step_of(*arm, c);
      std::vector<std::string> row = {"  " + arm->name};
      for (const Part& part : parts_of(step)) row.push_back(part_text(part.seconds));
      row.push_back(seconds_text(step.step.value));
      table.add(row);
    }
  }
  return table;
}

}  // namespace onebit::experiments
