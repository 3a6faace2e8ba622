#include "experiments/output/pricing/time_output.hpp"

#include "device/base/text.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/output/comparison_output.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;
using analysis::CommunicationTime;
using Rows = std::vector<std::vector<std::string>>;

/// Returns the rows of an arm: its stages and, if there are several and a run finished, their mean over the run.
Rows communication_rows(const ArmFigures& arm) {
  const std::vector<CommunicationTime>& clusters = example_times(arm).communication;
  Rows rows;
  if (clusters.empty()) return rows;
  const auto add = [&](const std::string& stage, const auto& seconds) {
    rows.push_back({"  " + stage});
    for (const CommunicationTime& time : clusters) rows.back().push_back(seconds_text(seconds(time)));
  };
  const std::vector<CommunicationTime::Stage>& stages = clusters.front().stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    add(stages[s].name + " stage", [s](const CommunicationTime& time) { return time.stages[s].seconds; });
  }
  if (stages.size() != 1 && arm.finished > 0)
    add("mean over the run", [](const CommunicationTime& time) { return time.mean_seconds; });
  return rows;
}

}  // namespace

Table communication_table(const std::vector<ArmFigures>& arms) {
  std::vector<std::string> header = {"communication per step"};
  for (const CommunicationTime& time : arms.front().times.front().communication) header.push_back(time.cluster);
  Table table(header);
  std::vector<Rows> rows_of;
  for (const ArmFigures& arm : arms) rows_of.push_back(communication_rows(arm));
  std::vector<bool> shown(arms.size(), false);
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (shown[a]) continue;
    const Rows& rows = rows_of[a];
    std::string names = arms[a].name + outcome_remark(arms[a]);
    for (std::size_t b = a + 1; b < arms.size(); ++b) {
      if (shown[b] || rows_of[b] != rows) continue;
      shown[b] = true;
      names += "; " + arms[b].name + outcome_remark(arms[b]);
    }
    table.add({names});
    for (const std::vector<std::string>& row : rows) table.add(row);
  }
  return table;
}

Table times_table(const std::vector<ArmFigures>& arms) {
  std::vector<std::string> header = {"time of the run"};
  for (const analysis::ClusterSeconds& time : arms.front().seconds) header.push_back(time.cluster);
  Rows rows;
  for (const ArmFigures& arm : arms) rows.push_back({"  " + arm.name + outcome_remark(arm)});
  for (std::size_t c = 0; c < arms.front().seconds.size(); ++c) {
    std::vector<double> means;
    for (const ArmFigures& arm : arms) means.push_back(arm.seconds[c].seconds.mean);
    const std::vector<std::string> texts = seconds_texts(means);
    for (std::size_t a = 0; a < arms.size(); ++a) rows[a].push_back(texts[a]);
  }
  Table table(header);
  for (const std::vector<std::string>& row : rows) table.add(row);
  return table;
}

std::vector<std::string> computing_lines(const std::vector<analysis::ComputingGroup>& groups) {
  std::vector<std::string> lines;
  for (const analysis::ComputingGroup& group : groups) {
    std::string line = "computing: ";
    line += group.runs > 0
                ? seconds_text(group.seconds) + " per step, one worker's share of the simulation's time, median of " +
                      std::to_string(group.runs) + (group.runs == 1 ? " run" : " runs")
                : "counted as 0, because no log records its time";
    constexpr double noisy = 2;
    if (group.most > noisy * group.least)
      line += "; it was " + seconds_text(group.least) + " to " + seconds_text(group.most) +
              " in individual runs, as happens on a busy machine, so the times are uncertain";
    if (groups.size() > 1) line += " (" + join(group.arms, ", ") + ")";
    lines.push_back(line);
  }
  return lines;
}

Json communication_json(const std::vector<CommunicationTime>& times) {
  std::vector<std::pair<std::string, Json>> clusters;
  for (const CommunicationTime& time : times) {
    std::vector<Json> stages;
    for (const CommunicationTime::Stage& stage : time.stages) {
      stages.push_back(
          Json::object({{"stage", stage.name}, {"steps", stage.steps}, {"communication_seconds", stage.seconds}}));
    }
    clusters.emplace_back(time.cluster, Json::object({{"dense_seconds", time.dense_seconds},
                                                      {"compressed_seconds", time.compressed_seconds},
                                                      {"mean_seconds", time.mean_seconds},
                                                      {"stages", Json::array(stages)}}));
  }
  return Json::object(clusters);
}

Json seconds_json(const std::vector<analysis::ClusterSeconds>& times) {
  std::vector<std::pair<std::string, Json>> members;
  for (const analysis::ClusterSeconds& time : times) members.emplace_back(time.cluster, interval_json(time.seconds));
  return Json::object(members);
}

Json computing_json(const std::vector<analysis::ComputingGroup>& groups) {
  std::vector<Json> items;
  for (const analysis::ComputingGroup& group : groups) {
    items.push_back(
        Json::object({{"step_seconds", group.seconds}, {"runs", group.runs}, {"arms", Json::texts(group.arms)}}));
  }
  return Json::array(items);
}

}  // namespace onebit::experiments
