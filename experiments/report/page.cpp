#include "experiments/report/page.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/compare/arm_names.hpp"
#include "analysis/log/log_options.hpp"
#include "analysis/pictures/gnuplot.hpp"
#include "experiments/output/analysis/analyze_output.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/output/pricing/time_output.hpp"
#include "experiments/report/answers.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/clusters.hpp"
#include "experiments/report/front.hpp"
#include "experiments/report/grids.hpp"
#include "experiments/report/html.hpp"
#include "experiments/report/loss_map.hpp"
#include "experiments/study/unfinished.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;
using analysis::ArmFigures;
using analysis::Run;

std::string drawn(const Figure& figure, const std::string& prefix) {
  if (figure.map.values.empty()) return html::figure(analysis::inline_svg(figure.plot, prefix), figure.caption);
  return html::figure(analysis::inline_svg(figure.map, prefix), figure.caption, "heat");
}

/// Returns the figures whose names begin with `name`.
std::string figures_html(const std::vector<Figure>& figures, const std::string& name) {
  std::string body;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (figures[i].name.starts_with(name)) body += drawn(figures[i], std::string("f").append(std::to_string(i)) + "-");
  }
  return body;
}

std::string verdicts_html(const analysis::Comparison& comparison) {
  std::string body;
  for (const analysis::VerdictSection& section : analysis::sections_of(comparison)) {
    std::vector<std::string> lines, warnings;
    for (const analysis::Verdict& verdict : section.verdicts) {
      const std::string accuracy = analysis::accuracy_text(verdict);
      lines.push_back(verdict.sentence + (accuracy.empty() ? "" : "; its " + accuracy));
      for (const std::string& line : warnings_on(verdict, comparison)) {
        if (std::ranges::find(warnings, line) == warnings.end()) warnings.push_back(line);
      }
    }
    lines.insert(lines.end(), warnings.begin(), warnings.end());
    body += html::heading(3, section.heading.empty() ? "Verdicts" : "Verdicts " + section.heading) +
            html::paragraph(section.rule + ".") + html::list(lines);
  }
  return body;
}

std::string arms_html(const Report& report) {
  const analysis::Comparison& comparison = report.comparison;
  const std::string baselines = baselines_of(comparison.arms);
  return html::table(arms_table(comparison.arms, true)) + html::paragraph(baselines.empty() ? "" : baselines + ".") +
         verdicts_html(comparison);
}

/// Returns the findings of one severity under a heading. Those with the same advice stand together, before it.
std::string problems_of(const Report& report, analysis::Severity severity, const std::string& heading) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // advice, findings
  for (const SharedFinding& finding : report.findings) {
    if (finding.severity != severity) continue;
    auto group = std::ranges::find(groups, finding.hint, &std::pair<std::string, std::vector<std::string>>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {finding.hint, {}});
    group->second.push_back(plain_line_of(finding, report.arms));
  }
  std::string body = groups.empty() ? "" : html::heading(3, heading);
  for (const auto& [advice, lines] : groups)
    body += html::list(lines) + html::paragraph(advice.empty() ? "" : "What to do: " + advice + ".");
  return body;
}

/// Returns "5 problems, 3 warnings, 1 log left out", without those of which there are none.
std::string counts_of(const Report& report) {
  const auto of = [&](analysis::Severity severity) {
    return std::ranges::count(report.findings, severity, &SharedFinding::severity);
  };
  std::vector<std::string> counts;
  const auto add = [&](Index count, const std::string& noun, const std::string& rest) {
    if (count > 0) counts.push_back(html::counted(count, noun) + rest);
  };
  add(of(analysis::Severity::problem), "problem", "");
  add(of(analysis::Severity::warning), "warning", "");
  add(std::ssize(report.left_out), "log", " left out");
  return join(counts, ", ");
}

std::string problems_html(const Report& report) {
  std::string body = problems_of(report, analysis::Severity::problem, "Problems");
  if (!body.empty()) body = html::division("problems", body);
  const std::string warnings = problems_of(report, analysis::Severity::warning, "Warnings");
  if (!warnings.empty()) body += html::division("warnings", warnings);
  if (!report.left_out.empty()) body += html::heading(3, "Logs that were left out") + html::list(report.left_out);
  return body;
}

bool reached_any(const analysis::VarianceView& view) {
  return std::ranges::any_of(view.thresholds, [](const analysis::Threshold& row) {
    return row.published > 0 || row.stay.first > 0 || row.freeze_step > 0;
  });
}

std::string thresholds_html(const analysis::VarianceView& view) {
  if (!reached_any(view)) return html::paragraph("The stability ratio reached none of the thresholds.");
  return html::table(thresholds_table(view)) +
         html::paragraph(
             "'held from' and 'held until' give the first stretch at or above the threshold that is long enough for "
             "the rule auto, which then freezes at 'freeze step'. 'share of run' is w = freeze step / all steps. "
             "'papers' ratio' is the bytes of dense fp16 divided by the bytes of a run that freezes at that step, 1/(w "
             "+ (1 - w)/16). It counts dense steps as fp16; 'vs fp16' under 'All arms' counts what was sent, which is "
             "usually fp32 in dense steps. The training loss is measured on one step's batch.",
             "facts");
}

std::string drift_html(const analysis::Drift& drift) {
  if (drift.steps.empty()) return "";
  return html::table(drift_table(drift)) +
         html::paragraph(
             "'shadow' is the variance as it would be without the freeze. 'typical change of the rate' is the factor, "
             "up or down, by which it would change a coordinate's step, lr/(sqrt(v) + eps) (geometric mean). 'moved' "
             "is "
             "the share of coordinates whose sqrt(v) differs by more than --probe.moved.",
             "facts");
}

/// Says when the variance was frozen, and when each rule would have frozen it.
std::string freeze_text(const analysis::VarianceView& view, const Run& run) {
  if (analysis::option_of(run.header, "freeze.scope") == "tensor")
    return view.freeze_step > 0
               ? "The first variance of a tensor was frozen after step " + std::to_string(view.freeze_step) + "."
               : "No tensor's variance was frozen.";
  const double wanted = analysis::number_in(analysis::option_of(run.header, "freeze.threshold").value_or(""));
  const auto row = std::ranges::find(view.thresholds, wanted, &analysis::Threshold::threshold);
  const std::string frozen = view.freeze_step > 0
                                 ? "The variance was frozen after step " + std::to_string(view.freeze_step) + "."
                                 : "The variance was not frozen.";
  if (row == view.thresholds.end()) return frozen;
  const bool other_lag = view.own_lag > 0 && view.own_lag != view.rule_lag;
  const std::string lag = other_lag ? " and a lag of " + std::to_string(view.rule_lag) + " instead of the run's " +
                                          std::to_string(view.own_lag)
                                    : "";
  const std::string by = " by step " + std::to_string(view.freeze_step > 0 ? view.freeze_step : view.steps.back());
  const auto text = [&](const std::string& rule, Index step) {
    return rule +
           (step > 0 ? " would have frozen it at step " + std::to_string(step) : " would not have frozen it" + by);
  };
  return frozen + " With a threshold of " + shortest(wanted) + lag + ", " + text("the rule auto", row->freeze_step) +
         ", and " + text("the published rule", row->published) + ".";
}

std::string variance_html(const Report& report, const std::vector<Figure>& figures) {
  if (report.variances.empty()) return "";
  std::string body = figures_html(figures, "variance");
  for (std::size_t a = 0; a < report.variances.size(); ++a) {
    const analysis::VarianceView& view = report.variances[a];
    const auto arm = std::ranges::find(report.arms, report.variance_arms[a], &Arm::name);
    body +=
        html::heading(3, arm->name) + html::paragraph(freeze_text(view, example_of(*arm))) +
        html::paragraph("Seed " + std::to_string(example_of(*arm).summary.seed) + ". Rules: " + rule_of(view) + ".") +
        thresholds_html(view) + drift_html(view.drift) + html::table(tensors_table(view));
    body += figures_html(figures, numbered("tensors", a));
    if (report.step_sizes[a])
      body += html::table(steps_table(*report.step_sizes[a])) + figures_html(figures, numbered("steps", a));
  }
  if (!report.without_variance.empty()) {
    body += html::heading(3, "Arms without this view") + html::list(report.without_variance);
  }
  return body;
}

Table network_table(const Report& report) {
  Table table({"arm", "dense step", "compressed step", "up", "down", "bytes/worker"});
  for (const Arm& arm : report.arms) {
    const analysis::Summary& run = example_of(arm).summary;
    table.add({arm.name, bytes_text(run.dense_step_bytes), bytes_text(run.compressed_step_bytes),
               bytes_text(run.up_bytes), bytes_text(run.down_bytes),
               bytes_text(figures_of(report.comparison, arm.name).bytes.mean)});
  }
  return table;
}

std::string network_html(const Report& report) {
  const analysis::Comparison& comparison = report.comparison;
  std::string body =
      html::paragraph("The table shows the bytes that one worker sends, 'up' as a worker and 'down' as a server.") +
      html::table(network_table(report));
  if (!comparison.arms.front().seconds.empty()) {
    body +=
        html::paragraph(
            "Estimates for clusters: 'communication per step' prices the recorded communication alone, 'time of the "
            "run' the whole run with computing, codec and update, and 'parts of a mean step' divides a step.") +
        html::table(communication_table(comparison.arms)) + html::table(times_table(comparison.arms)) +
        html::table(parts_table(report)) +
        html::paragraph(
            "NCCL chooses a protocol by the size of a message and the network. A protocol with a lower "
            "latency sends more slowly. Coding is estimated from the memory that it touches, without the start of "
            "kernels.",
            "facts");
  }
  if (std::isfinite(comparison.target) && (comparison.target_is_given || comparison.arms.size() > 1)) {
    body +=
        html::table(targets_table(comparison)) +
        html::paragraph(
            target_text(comparison) +
            " Each cost counts up to the point where an evaluated loss first reaches this value, interpolated linearly "
            "between evaluations. Where the evaluations are too far apart to interpolate, the cost is marked ≤ and "
            "counts up to the first evaluation at or below this value. The loss may rise again later." +
            (comparison.target_is_given || comparison.verdicts.size() < 2
                 ? ""
                 : " The answers above compare two arms each, at the lowest loss that these two reached, so their "
                   "factors differ from those in this table."));
  }
  return body;
}

constexpr const char* kTheorySymbols =
    "Measured at every step that was probed; minimum and maximum are over these steps. L: change of the mean gradient "
    "in a step, divided by the step's length. sigma: noise of a worker's gradient over its batch. zeta: root mean "
    "square distance of the workers' expected gradients from their mean. delta: 1 - (||y - C[y]|| / ||y||)^2 for a "
    "codec C and its input y. e: what a codec's output lacks, kept for the next step. epsilon: twice the largest error "
    "norm of any single worker, or of the servers. Denominator: sqrt(v) + eps, by which an update divides.";

constexpr const char* kBoundOfTheorem =
    "The bound is Theorem 1 of Tang et al. 2021: the left side, which is the factor times the sum of the scaled "
    "squared "
    "gradients since the freeze, is at most the right side, which is the sum of the terms start, errors (with "
    "epsilon), "
    "noise and momentum.";

/// Returns the theory section, for arms whose example run was probed.
std::string theory_html(const Report& report, const std::vector<Figure>& figures) {
  if (report.theories.empty() && report.without_theory.empty()) return "";
  const auto is_bounded = [](const analysis::TheoryView& view) { return !view.bound.empty(); };
  std::string body = html::paragraph(report.theories.empty() ? "" : kTheorySymbols, "facts");
  if (std::ranges::any_of(report.theories, is_bounded)) body += html::paragraph(kBoundOfTheorem, "facts");
  for (std::size_t a = 0; a < report.theories.size(); ++a) {
    const analysis::TheoryView& view = report.theories[a];
    body += html::heading(3, report.theory_arms[a]) + html::table(constants_table(view.constants)) +
            html::table(bound_table(view.bound)) + figures_html(figures, numbered("bound", a)) +
            html::list(theory_lines(view));
  }
  return body + html::list(report.without_theory);
}

std::string status_text(const Run& run) {
  constexpr std::string_view names[] = {"finished", "diverged", "failed", "unfinished"};
  const std::string text(names[static_cast<std::size_t>(outcome_of(run))]);
  return ended_above_start(run) ? text + " above its start" : text;
}

std::string runs_html(const Report& report) {
  Table table({"arm", "seed", "status", "steps", "final loss", "freeze step", "bytes/worker", "wall", "log"});
  for (const Arm& arm : report.arms) {
    for (const Run& run : arm.runs) {
      const analysis::Summary& s = run.summary;
      table.add({arm.name, std::to_string(s.seed), status_text(run), std::to_string(s.steps),
                 s.is_outdated() ? "-" : number(s.final_loss, 5),
                 s.freeze_step > 0 ? std::to_string(s.freeze_step) : "-", bytes_text(s.bytes),
                 seconds_text(s.wall_seconds), s.path});
    }
  }
  return html::table(table);
}

/// Returns a command for each shown arm, and the programs, machines and data with which its runs were made.
std::string repeat_html(const Report& report) {
  std::string body;
  for (const Arm& arm : report.arms) {
    if (!report.shows(arm.name)) continue;
    std::vector<std::string> seeds;
    std::set<std::string> origins;
    for (const Run& run : arm.runs) {
      const sim::LogHeader& header = run.header;
      seeds.push_back(std::to_string(run.summary.seed));
      origins.insert("onebit " + header.program_version + " (" + header.git_commit + ") on " + header.host + " (" +
                     header.devices + "), data with the fingerprint " + header.data_hash);
    }
    const std::string command = command_to_repeat(arm.runs.front().header);
    const std::string typed = "the command that was typed: " + arm.runs.front().header.command_line;
    body += html::heading(3, arm.name) +
            html::command(command.empty()
                              ? typed
                              : command + " -o " + html::identifier_of(arm.name) + "-" + seeds.front() + ".h5") +
            html::paragraph((seeds.size() == 1 ? "Seed " : "Seeds ") + join(seeds, ", ") + "; made by " +
                            join(std::vector<std::string>(origins.begin(), origins.end()), "; ") + ".");
  }
  return body;
}

/// The figures for print, and for readers without scripts: loss against bytes, and against the seconds on the first
/// cluster.
std::string still_html(const std::vector<Figure>& figures) {
  std::string body;
  for (const std::string name : {"loss-bytes", "loss-time-"}) {
    const auto found = std::ranges::find_if(figures, [&](const Figure& each) { return each.name.starts_with(name); });
    if (found != figures.end()) body += drawn(*found, name);
  }
  if (body.empty() && !analysis::has_gnuplot())
    body = html::paragraph("There are no pictures for print: gnuplot is not installed.");
  return "<div class=\"still\">\n" + body + "</div>\n";
}

}  // namespace

std::string html_of(const Report& report, const std::vector<Figure>& figures, const std::string& title) {
  const std::string name = title.empty() ? title_of(report) : title;
  const std::string problems = problems_html(report);
  const bool any_problem =
      std::ranges::count(report.findings, analysis::Severity::problem, &SharedFinding::severity) > 0;
  const std::string except = any_problem ? ", except the problems under 'What went wrong'" : "";
  const auto of_arms = [](Index count) { return "for " + html::counted(count, "arm"); };
  std::string body = html::division("front", front_html(report, name)) +
                     chart_html(chart_data(report.comparison, report.shown).text()) + still_html(figures) +
                     html::paragraph("The sections below that were collapsed on screen are not printed" + except + ".",
                                     "printed facts") +
                     html::division("map", loss_map_html(report));
  body += html::details(analysis::sections_of(report.comparison).empty() ? "All arms" : "All arms and verdicts",
                        html::counted(std::ssize(report.arms), "arm"), arms_html(report)) +
          html::details("Network", "", network_html(report)) +
          html::details("Variance and freeze", of_arms(std::ssize(report.variances)), variance_html(report, figures)) +
          html::details("Theory", of_arms(std::ssize(report.theories)), theory_html(report, figures)) +
          html::details("What went wrong", counts_of(report), problems) + html::details("Runs", "", runs_html(report)) +
          html::details("How to repeat the runs", of_arms(std::ssize(report.shown)), repeat_html(report));
  return html::page(name, body);
}

}  // namespace onebit::experiments
