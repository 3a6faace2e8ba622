#include "experiments/report/front.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "analysis/compare/arm_names.hpp"
#include "analysis/log/log_options.hpp"
#include "analysis/log/timeline.hpp"
#include "experiments/output/analysis/interval_output.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/output/pricing/time_output.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/cautions.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/clusters.hpp"
#include "experiments/report/grids.hpp"
#include "experiments/report/html.hpp"
#include "optim/read_options.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;
using analysis::Comparison;
using analysis::Judgement;
using analysis::Verdict;

/// Returns the distinct values of text(run) over all runs, in order of appearance: at most four, then how many more.
template <class Text>
std::string values_of(const Report& report, const Text& text) {
  constexpr std::size_t most = 4;
  std::vector<std::string> values;
  for (const analysis::Arm& arm : report.arms) {
    for (const analysis::Run& run : arm.runs) {
      const std::string value = text(run);
      if (!value.empty() && std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
  }
  if (values.size() > most) {
    const std::string more = std::to_string(values.size() - most) + " more";
    values.resize(most);
    values.push_back(more);
  }
  return join(values, ", ");
}

std::string option_values(const Report& report, const std::string& option) {
  return values_of(report,
                   [&](const analysis::Run& run) { return analysis::option_of(run.header, option).value_or(""); });
}

/// Returns a run's freeze policy; empty if its optimizer has none.
std::string freeze_of(const analysis::Run& run) {
  const bool freezes = optim::takes_option(analysis::option_of(run.header, "optimizer").value_or(""), "freeze");
  return freezes ? analysis::option_of(run.header, "freeze").value_or("") : "";
}

/// Returns " (onebit-adam)", the optimizers with a freeze policy; empty if all have one.
std::string freezing_text(const Report& report) {
  const auto optimizer_of = [](const analysis::Run& run) {
    return analysis::option_of(run.header, "optimizer").value_or("");
  };
  const std::string freezing =
      values_of(report, [&](const analysis::Run& run) { return freeze_of(run).empty() ? "" : optimizer_of(run); });
  return freezing == values_of(report, optimizer_of) ? "" : " (" + freezing + ")";
}

/// Returns "3 arms x 4 learning rates x 3 seeds, 36 runs", or "5 arms, 14 runs" if the runs are no such grid.
std::string runs_counted(const Report& report) {
  const std::vector<analysis::RateGrid>& grids = report.comparison.grids;
  std::size_t runs = 0;
  for (const analysis::Arm& arm : report.arms) runs += arm.runs.size();
  const std::string all = html::counted(static_cast<Index>(runs), "run");
  const std::size_t seeds = report.arms.front().runs.size(), rates = grids.empty() ? 0 : grids.front().arms.size();
  const bool regular =
      rates > 1 && rates * grids.size() == report.arms.size() &&
      std::ranges::all_of(grids, [&](const analysis::RateGrid& grid) { return grid.arms.size() == rates; }) &&
      std::ranges::all_of(report.arms, [&](const analysis::Arm& arm) { return arm.runs.size() == seeds; });
  if (!regular) return html::counted(static_cast<Index>(report.arms.size()), "arm") + ", " + all;
  return html::counted(std::ssize(grids), "arm") + " x " + html::counted(static_cast<Index>(rates), "learning rate") +
         (seeds > 1 ? " x " + std::to_string(seeds) + " seeds" : "") + ", " + all;
}

std::vector<std::string> grid_names(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const analysis::RateGrid& grid : comparison.grids) names.push_back(analysis::spoken_name(grid.name));
  return names;
}

/// Returns the facts about the runs: parts without a value are left out.
std::vector<std::string> facts_of(const Report& report) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& before, const std::string& values, const std::string& after) {
    if (!values.empty()) parts.push_back(before + values + after);
  };
  const std::string optimizer = option_values(report, "optimizer");
  if (optimizer.find(',') == std::string::npos) add("optimizer ", optimizer, "");
  add("model ", option_values(report, "model"), "");
  add("", values_of(report, [](const analysis::Run& run) { return std::to_string(run.summary.parameters); }),
      " parameters");
  if (option_values(report, "data") != "none") add("data ", option_values(report, "data"), "");
  add("", option_values(report, "workers"), " workers");
  add("batch ", option_values(report, "batch"), " per worker");
  add("",
      values_of(report,
                [](const analysis::Run& run) {
                  const std::string steps =
                      analysis::option_of(run.header, "steps").value_or("");  // 0: as many as --epochs gave
                  return steps != "0"                                     ? steps
                         : outcome_of(run) == analysis::Outcome::finished ? std::to_string(run.summary.steps)
                                                                          : "";
                }),
      " steps");
  add("schedule ", option_values(report, "schedule"), "");
  add("freeze ", values_of(report, freeze_of), freezing_text(report));
  add("", runs_counted(report), "");
  add("", values_of(report, [](const analysis::Run& run) { return run.header.created_utc.substr(0, 10); }), "");
  add("onebit ",
      values_of(
          report,
          [](const analysis::Run& run) { return run.header.program_version + " (" + run.header.git_commit + ")"; }),
      "");
  return parts;
}

bool several_rates(const Comparison& comparison) {
  return std::ranges::any_of(comparison.arms, [](const ArmFigures& arm) { return arm.rates.tried.size() > 1; });
}

/// Whether an arm has a final loss; replays have none.
bool has_losses(const Comparison& comparison) {
  return std::ranges::any_of(comparison.arms, [](const ArmFigures& arm) { return std::isfinite(arm.final_loss.mean); });
}

std::string question_of(const Report& report) {
  const Comparison& comparison = report.comparison;
  if (comparison.verdicts.empty()) {
    const std::string who = comparison.grids.size() == 1 ? analysis::spoken_name(comparison.grids[0].name) : "each arm";
    const std::string rate = several_rates(comparison) ? " at its best learning rate" : "";
    return !analysis::is_replay(report.arms.front().runs.front().header)
               ? "What final loss does " + who + " reach" + rate + ", and how many bytes does it send?"
               : "How many bytes does " + who + " send?";
  }
  std::vector<std::string> arms;
  std::set<std::string> baselines;
  for (const Verdict& verdict : comparison.verdicts) {
    arms.push_back(analysis::spoken_name(name_at_best(comparison, verdict.arm)));
    baselines.insert(analysis::spoken_name(name_at_best(comparison, verdict.baseline)));
  }
  const bool best = std::ranges::all_of(
      comparison.verdicts, [&](const Verdict& verdict) { return is_at_best(comparison, verdict.baseline); });
  const std::string rates = several_rates(comparison) && best ? ", each at its best learning rate" : "";
  const bool one = arms.size() == 1;
  const std::string all = join(std::vector(baselines.begin(), baselines.end()), " or ");
  const std::string others = baselines.size() == 1 ? all : "the arm that each is compared with (" + all + ")";
  return (one ? "Does " : "Do ") + enumerated(arms) + " reach the same final loss as " + others + rates +
         ", and what " + (one ? "does it" : "do they") + " save?";
}

/// Returns "0.01 (best of 5)" or "0.01 (only one)"; only the rate on a page of one arm.
std::string rate_text(const analysis::Rates& rates, bool alone) {
  if (!std::isfinite(rates.rate)) return "-";
  if (alone) return shortest(rates.rate);
  return shortest(rates.rate) +
         (rates.tried.size() > 1 ? " (best of " + std::to_string(rates.tried.size()) + ")" : " (only one)");
}

/// Adds a row for each grid whose arms the table does not show: one of several rates without a best one, because every
/// rate has a diverged run or no rate has a finished run.
void add_grids_without_best(const Comparison& comparison, Table& table) {
  const std::vector<std::string> shown = best_arms(comparison);
  for (const analysis::RateGrid& grid : comparison.grids) {
    const auto is_shown = [&](std::size_t arm) {
      return std::ranges::find(shown, comparison.arms[arm].name) != shown.end();
    };
    if (std::ranges::any_of(grid.arms, is_shown)) continue;
    const bool diverged =
        std::ranges::any_of(grid.arms, [&](std::size_t arm) { return comparison.arms[arm].diverged > 0; });
    std::vector<std::string> row(table.rows().front().size(), "-");
    row[0] = grid.name;
    const std::size_t tried = comparison.arms[grid.arms.front()].rates.tried.size();
    row[1] = "none of " + std::to_string(tried);
    row[2] = diverged ? "diverged" : "not finished";
    table.add(std::move(row));
  }
}

/// Whether all runs of the arms in the first table finished, and each of these arms has the same number of runs.
bool all_finished(const Comparison& comparison) {
  std::set<Index> counts;
  const bool finished = std::ranges::all_of(front_arms(comparison), [&](const std::string& name) {
    const ArmFigures& arm = figures_of(comparison, name);
    counts.insert(arm.runs);
    return arm.finished == arm.runs;
  });
  return finished && counts.size() == 1;
}

/// Number of clusters in the first table; the times on all of them are in a table further down.
constexpr std::size_t kMostClusters = 4;

/// Returns the mean time of each arm of the first table on a cluster.
std::vector<std::string> times_on(std::size_t cluster, const Comparison& comparison) {
  std::vector<double> means;
  for (const std::string& name : front_arms(comparison))
    means.push_back(figures_of(comparison, name).seconds[cluster].seconds.mean);
  return seconds_texts(means);
}

Table best_table(const Comparison& comparison) {
  const bool clicks = has_auc(comparison.arms), crosses = has_boundary(comparison.arms);
  std::vector<std::string> header = {"arm", "learning rate", "final loss", clicks ? "AUC" : "accuracy", "bytes/worker"};
  if (crosses) header.emplace_back("at boundary");
  const std::size_t clusters = std::min(kMostClusters, comparison.arms.front().seconds.size());
  std::vector<std::vector<std::string>> times;
  for (std::size_t c = 0; c < clusters; ++c) {
    header.push_back("est. on " + comparison.arms.front().seconds[c].cluster);
    times.push_back(times_on(c, comparison));
  }
  const bool whole = all_finished(comparison), alone = comparison.arms.size() == 1;
  if (!whole) header.emplace_back("finished");
  Table table(header);
  const std::vector<std::string> arms = front_arms(comparison);
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const ArmFigures& arm = figures_of(comparison, arms[a]);
    std::vector<std::string> row = {
        name_at_best(comparison, arm.name), rate_text(arm.rates, alone || !is_at_best(comparison, arm.name)),
        arm.finished == 0 && arm.diverged > 0 ? "diverged" : final_loss_text(arm),
        clicks ? interval_text(arm.auc) : percent_interval(arm.accuracy), bytes_text(arm.bytes.mean)};
    if (crosses) row.push_back(bytes_text(arm.boundary_bytes.mean));
    for (const std::vector<std::string>& column : times) row.push_back(column[a]);
    if (!whole) row.push_back(std::to_string(arm.finished) + " of " + html::counted(arm.runs, "run"));
    table.add(std::move(row));
  }
  add_grids_without_best(comparison, table);
  return table;
}

/// Returns "on at most 512 held-out examples, the same for every seed, "; empty if the models need no data or runs
/// evaluate different splits.
std::string evaluated_text(const Report& report) {
  const std::string split = option_values(report, "eval.split"), most = option_values(report, "eval.examples");
  if (option_values(report, "data") == "none" || (split != "holdout" && split != "train")) return "";
  const std::string examples = split == "holdout" ? "held-out examples" : "training examples";
  if (most.empty() || most.find(',') != std::string::npos) return "on " + examples + " ";
  const bool seeds = has_seeds(report.comparison, front_arms(report.comparison));
  return "on at most " + most + " " + examples + (seeds ? ", the same for every seed, " : " ");
}

/// Returns "3 seeds" if every arm in the first table finished that many runs, otherwise "the seeds".
std::string seeds_of(const Comparison& comparison) {
  std::set<Index> counts;
  for (const std::string& name : front_arms(comparison)) counts.insert(figures_of(comparison, name).finished);
  counts.erase(0);
  return counts.size() == 1 && *counts.begin() > 1 ? html::counted(*counts.begin(), "seed") : "the seeds";
}

/// Says why the intervals of the answers differ from those in the first table; empty if no answer has one.
std::string paired_text(const Comparison& comparison) {
  constexpr analysis::Judgement untrained = analysis::Judgement::not_comparable_untrained;
  const bool any = std::ranges::any_of(comparison.verdicts, [](const Verdict& verdict) {
    return verdict.judgement != untrained && std::isfinite(verdict.difference.low) && verdict.difference.pairs > 1;
  });
  return any ? " The answers compare seed by seed, so their intervals differ from these." : "";
}

/// Says what the times in the first table are, and on what; empty if it has none.
std::string estimates_text(const Comparison& comparison) {
  std::vector<std::string> clusters;
  for (std::size_t c = 0; c < std::min(kMostClusters, comparison.clusters.size()); ++c)
    clusters.push_back(described(comparison.clusters[c]));
  return clusters.empty() ? ""
                          : "'est.' is the estimated time of a whole run (" + join(clusters, "; ") +
                                "). The estimates for short messages and compressed exchanges are the least certain: "
                                "some of these took up to 2.9 times as long when measured.";
}

/// Says what the final losses in the first table are; empty without them.
std::string losses_text(const Report& report) {
  const Comparison& comparison = report.comparison;
  if (!has_losses(comparison)) return "";
  const bool seeds = has_seeds(comparison, front_arms(comparison));
  const std::string evaluated = evaluated_text(report);
  const bool risen = std::ranges::any_of(front_arms(comparison), [&](const std::string& name) {
    const ArmFigures& arm = figures_of(comparison, name);
    return arm.above_start && arm.finished > 1;
  });
  return "Final loss: " + evaluated + "after the last step" +
         (seeds ? ", mean ± 95% interval over " + seeds_of(comparison) : "") +
         (risen ? " (for an arm that ended above its starting loss, the range over its seeds)" : "") + "." +
         (seeds && !evaluated.empty()
              ? " The intervals do not include the uncertainty due to the choice of these examples (--eval.examples)."
              : "") +
         (seeds ? paired_text(comparison) : "");
}

/// Explains the columns of the first table.
std::string legend_of(const Report& report) {
  const std::string boundary = has_boundary(report.comparison.arms)
                                   ? "'at boundary' counts the bytes of activations, embeddings and their gradients."
                                   : "";
  std::vector<std::string> texts = {losses_text(report), estimates_text(report.comparison), boundary};
  std::erase(texts, "");
  return join(texts, " ");
}

/// Whether a workload has the size of the runs' model, so that --workload takes it.
bool has_workload(const Report& report) {
  const Index parameters = report.arms.front().runs.front().summary.parameters;
  return std::ranges::any_of(netmodel::workloads(), [&](const netmodel::Workload& workload) {
    return workload.tables.count == 0 && analysis::has_size_of(workload, parameters);
  });
}

/// Says which computing time the estimates include.
std::string computing_text(const Report& report) {
  const std::vector<analysis::ComputingGroup>& groups = report.comparison.computing;
  if (groups.empty()) return "and from the computing time that was given.";
  if (std::ranges::all_of(groups, [](const auto& group) { return group.runs == 0; }))
    return "without computing time, because no log records it.";
  return std::string("and from the computing time of this simulation (") +
         (has_workload(report)
              ? "--workload sets the time of a known network on GPUs"
              : "--step.forward and --step.backward set the times of your GPUs; 'onebit price' has known networks") +
         "). The longer a step computes, the less the exchange matters.";
}

/// Says, in a part of the page that the reader can open, how the times were estimated, what the clusters are, and what
/// takes time on the first; empty if there are no times.
std::string times_html(const Report& report) {
  const Comparison& comparison = report.comparison;
  if (comparison.clusters.empty()) return "";
  const std::string fp16 = comparison.gradient_bytes == sizeof(float)
                               ? " (--step.gradient fp16: priced as fp16)."
                               : "; the times, but not the byte counts, are estimated for fp16.";
  const std::string how = "Times are estimates from the messages that were sent, priced on a model of the cluster, " +
                          computing_text(report) + " Dense gradients are sent as fp32" + fp16;
  std::vector<std::string> lines = cluster_lines(report);
  for (const std::string& line : computing_lines(comparison.computing)) lines.push_back(line + ".");
  return html::details(
      "How the times were estimated", "clusters, computing, what takes time in a step",
      html::paragraph(how, "facts") + html::list(lines) + html::paragraph(parts_line(report), "facts"));
}

/// Returns a line with a link to the findings on individual runs; empty if there are none.
std::string findings_html(const Report& report) {
  if (report.findings.empty()) return "";
  std::set<std::string> runs;
  for (const SharedFinding& finding : report.findings) runs.insert(finding.paths.begin(), finding.paths.end());
  return "<p class=\"facts\">In detail: <a href=\"#what-went-wrong\">What went wrong</a> (" +
         html::counted(std::ssize(report.findings), "finding") + " on " + html::counted(std::ssize(runs), "run") +
         ").</p>\n";
}

/// Returns the name of the data's file or folder if all runs read the same one: "a9a"; otherwise the kind of data.
std::string data_name(const Report& report, const std::string& kind) {
  const std::string path = option_values(report, "data.path");
  const std::string name = std::filesystem::path(path).filename().string();
  return name.empty() || path.find(',') != std::string::npos || path.find(';') != std::string::npos ? kind : name;
}

}  // namespace

std::string title_of(const Report& report) {
  const std::string model = option_values(report, "model"), data = option_values(report, "data");
  std::string title = enumerated(grid_names(report.comparison));
  if (!model.empty()) title.append(": ").append(model);
  return data.empty() || data == "none" ? title : title.append(" on ").append(data_name(report, data));
}

std::string front_html(const Report& report, const std::string& title) {
  const Comparison& comparison = report.comparison;
  return html::heading(1, title) + html::facts(facts_of(report)) + html::paragraph(question_of(report), "question") +
         answers_html(report) + html::blocks(best_table(comparison)) + html::paragraph(legend_of(report), "facts") +
         html::list(cautions_of(report)) + findings_html(report) + times_html(report);
}

}  // namespace onebit::experiments
