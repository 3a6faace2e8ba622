#include "experiments/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

#include "analysis/pictures/gnuplot.hpp"
#include "device/base/csv.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "experiments/output/analyze_output.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/output/time_output.hpp"
#include "experiments/report/html.hpp"

namespace onebit::experiments {
namespace {

using analysis::Arm;
using analysis::Run;

/// Returns the run that represents an arm in views of a single log.
const Run& example_of(const Arm& arm) {
  const auto finished =
      std::ranges::find_if(arm.runs, [](const Run& run) { return outcome_of(run) == analysis::Outcome::finished; });
  return finished == arm.runs.end() ? arm.runs.front() : *finished;
}

/// Returns the step sizes, or nothing if the log predates their columns or has no rows of tensors.
std::optional<analysis::StepSizes> step_sizes_of(const sim::LogReader& log) {
  try {
    return analysis::view_step_sizes(log);
  } catch (const ConfigError&) {
    return {};
  }
}

void add_variances(const analysis::VarianceOptions& options, Report& report) {
  for (const Arm& arm : report.arms) {
    const sim::LogReader log(example_of(arm).summary.path);
    try {
      std::optional<analysis::StepSizes> sizes = step_sizes_of(log);
      report.variances.push_back(analysis::view_variance(log, options));
      report.step_sizes.push_back(std::move(sizes));
      report.variance_arms.push_back(arm.name);
    } catch (const ConfigError& error) {  // the run has no variance
      report.without_variance.push_back(arm.name + ": " + error.what());
    }
  }
}

void add_theories(Report& report) {
  for (const Arm& arm : report.arms) {
    const Run& run = example_of(arm);
    if (!run.header.probed) continue;
    const sim::LogReader log(run.summary.path);
    try {
      report.theories.push_back(analysis::view_theory(log));
      report.theory_arms.push_back(arm.name);
    } catch (const ConfigError& error) {  // too few rows
      report.without_theory.push_back(arm.name + ": " + error.what());
    }
  }
}

/// Returns the name of an arm's figures in a part of the page. It uses the arm's number, because one arm's name may be
/// the beginning of another's.
std::string numbered(const std::string& part, std::size_t arm) {
  return std::string(part).append("-").append(std::to_string(arm)).append("-");
}

std::string drawn(const Figure& figure, const std::string& prefix) {
  const std::string svg =
      figure.map.values.empty() ? analysis::inline_svg(figure.plot, prefix) : analysis::inline_svg(figure.map, prefix);
  return html::figure(svg, figure.caption);
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
    std::vector<std::string> lines;
    for (const analysis::Verdict& verdict : section.verdicts) {
      lines.push_back(verdict.sentence);
      for (const std::string& warning : verdict.warnings) lines.push_back("Warning: " + warning);
    }
    body += html::heading(3, section.heading.empty() ? "Verdicts" : "Verdicts " + section.heading) +
            html::paragraph(section.rule + ".") + html::list(lines);
  }
  return body + html::list(comparison.notes);
}

std::string summary_html(const Report& report) {
  const analysis::Comparison& comparison = report.comparison;
  std::string body = html::heading(2, "Summary") + html::table(arms_table(comparison.arms)) +
                     html::paragraph(baselines_of(comparison.arms));
  body += verdicts_html(comparison);
  if (!report.problems.empty()) body += html::heading(3, "Problems of single runs") + html::list(report.problems);
  if (!report.left_out.empty()) body += html::heading(3, "Logs that were left out") + html::list(report.left_out);
  return body;
}

std::string variance_html(const Report& report, const std::vector<Figure>& figures) {
  if (report.variances.empty()) return "";
  std::string body = html::heading(2, "Variance and freeze") + figures_html(figures, "variance");
  for (std::size_t a = 0; a < report.variances.size(); ++a) {
    const analysis::VarianceView& view = report.variances[a];
    body += html::heading(3, report.variance_arms[a]) +
            html::paragraph(std::string("Rules: ").append(rule_of(view)) + ".") + html::table(thresholds_table(view)) +
            html::table(drift_table(view.drift)) + html::table(tensors_table(view.tensors));
    body += figures_html(figures, numbered("tensors", a));
    if (report.step_sizes[a])
      body += html::table(steps_table(*report.step_sizes[a])) + figures_html(figures, numbered("steps", a));
  }
  if (!report.without_variance.empty()) {
    body += html::heading(3, "Arms without this view") + html::list(report.without_variance);
  }
  return body;
}

/// Returns the section of the losses.
std::string loss_html(const std::vector<Figure>& figures) {
  std::string body;
  for (const char* name : {"loss-steps", "loss-samples", "loss-bytes", "sweep"}) body += figures_html(figures, name);
  return html::heading(2, "Loss") + (body.empty() ? html::paragraph("No log has an evaluation.") : body);
}

Table network_table(const Report& report) {
  Table table({"arm", "dense step", "compressed step", "up", "down", "bytes/worker"});
  for (const Arm& arm : report.arms) {
    const analysis::Summary& run = example_of(arm).summary;
    table.add({arm.name, bytes_text(run.dense_step_bytes), bytes_text(run.compressed_step_bytes),
               bytes_text(run.up_bytes), bytes_text(run.down_bytes), bytes_text(run.bytes)});
  }
  return table;
}

std::string network_html(const Report& report, const std::vector<Figure>& figures) {
  const analysis::Comparison& comparison = report.comparison;
  std::string body = html::heading(2, "Network") + html::paragraph("Bytes that one worker sends.") +
                     html::table(network_table(report));
  if (!comparison.arms.front().seconds.empty()) {
    body += html::paragraph(
                "Estimates for clusters: the first table prices the recorded communication alone, the second the whole "
                "run with compute, codec and update.") +
            html::table(communication_table(comparison.arms)) + html::table(times_table(comparison.arms)) +
            html::list(computing_lines(comparison.computing));
  }
  if (std::isfinite(comparison.target)) body += html::table(targets_table(comparison));
  return body + figures_html(figures, "loss-time");
}

/// Returns the theory section, for arms whose example run was probed.
std::string theory_html(const Report& report, const std::vector<Figure>& figures) {
  if (report.theories.empty() && report.without_theory.empty()) return "";
  std::string body = html::heading(2, "Theory");
  for (std::size_t a = 0; a < report.theories.size(); ++a) {
    const analysis::TheoryView& view = report.theories[a];
    body += html::heading(3, report.theory_arms[a]) + html::table(constants_table(view.constants)) +
            html::table(bound_table(view.bound)) + figures_html(figures, numbered("bound", a)) +
            html::list(theory_lines(view));
  }
  return body + html::list(report.without_theory);
}

/// Returns "1 log", "2 logs".
std::string counted(Index count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string status_text(const Run& run) {
  const std::string reason = reason_of(run);
  return reason.empty() ? "finished" : reason;
}

std::string runs_html(const Report& report) {
  Table table({"arm", "seed", "status", "steps", "final loss", "freeze step", "bytes/worker", "wall"});
  for (const Arm& arm : report.arms) {
    for (const Run& run : arm.runs) {
      const analysis::Summary& s = run.summary;
      table.add({arm.name, std::to_string(s.seed), status_text(run), std::to_string(s.steps), number(s.final_loss, 5),
                 s.freeze_step > 0 ? std::to_string(s.freeze_step) : "-", bytes_text(s.bytes),
                 seconds_text(s.wall_seconds)});
    }
  }
  return html::heading(2, "Runs") + html::table(table);
}

/// Lists each command once, with the logs that it produced.
std::string repeat_html(const Report& report) {
  std::map<std::string, std::vector<std::string>> logs;
  for (const Arm& arm : report.arms) {
    for (const Run& run : arm.runs) {
      const sim::LogHeader& header = run.header;
      const std::string by = "onebit " + header.program_version + " (" + header.git_commit + ") on " + header.host +
                             " (" + header.devices + "), data " + header.data_hash;
      logs[header.command_line + "\n  by " + by].push_back(run.summary.path);
    }
  }
  std::string body = html::heading(2, "How to repeat the runs");
  for (const auto& [command, paths] : logs) body += html::preformatted(command + "\n  " + join(paths, "\n  "));
  return body;
}

std::string csv_number(double value) {
  return std::isfinite(value) ? shortest(value) : "";
}

}  // namespace

Report make_report(const std::vector<std::string>& paths, const ReportRequest& request,
                   const netmodel::CostModel& model) {
  Report report;
  analysis::LogSet logs = analysis::read_logs(paths);
  report.left_out = std::move(logs.left_out);
  report.problems = problems_of(logs);
  report.arms = analysis::arms_of(std::move(logs.runs));
  report.comparison = analysis::compare(report.arms, request.comparison, model);
  add_variances(request.variance, report);
  add_theories(report);
  return report;
}

std::vector<Figure> figures_of(const Report& report) {
  std::vector<Figure> figures = loss_figures(report.comparison);
  for (Figure& figure : sweep_figures(report.arms, report.comparison)) figures.push_back(std::move(figure));
  if (!report.variances.empty()) figures.push_back(stability_figure(report.variance_arms, report.variances));
  for (std::size_t a = 0; a < report.variances.size(); ++a) {
    if (report.variances[a].tensors.empty()) continue;
    figures.push_back(tensor_figure(report.variance_arms[a], report.variances[a]));
    figures.back().name = numbered("tensors", a) + report.variance_arms[a];
    if (!report.step_sizes[a]) continue;
    figures.push_back(steps_figure(report.variance_arms[a], *report.step_sizes[a]));
    figures.back().name = numbered("steps", a) + report.variance_arms[a];
  }
  for (std::size_t a = 0; a < report.theories.size(); ++a) {
    if (report.theories[a].bound.empty()) continue;
    figures.push_back(bound_figure(report.theory_arms[a], report.theories[a]));
    figures.back().name = numbered("bound", a) + report.theory_arms[a];
  }
  return figures;
}

std::string html_of(const Report& report, const std::vector<Figure>& figures) {
  Index runs = 0;
  for (const Arm& arm : report.arms) runs += std::ssize(arm.runs);
  std::string body = html::heading(1, "onebit report");
  const std::string left_out =
      report.left_out.empty() ? ""
                              : std::string("; ").append(counted(std::ssize(report.left_out), "log")) + " left out";
  body += html::paragraph(counted(runs, "run") + " in " + counted(std::ssize(report.arms), "arm") + left_out + ".");
  if (!analysis::has_gnuplot()) body += html::paragraph("There are no pictures: gnuplot is not installed.");
  body += summary_html(report) + loss_html(figures) + variance_html(report, figures) + network_html(report, figures) +
          theory_html(report, figures) + runs_html(report) + repeat_html(report);
  return html::page("onebit report", body);
}

void write_csv(const Report& report, std::ostream& out) {
  out << "arm,seed,log,status,step,samples,bytes,loss,accuracy\n";
  for (const Arm& arm : report.arms) {
    for (const Run& run : arm.runs) {
      const std::string start = csv_text(arm.name) + "," + std::to_string(run.summary.seed) + "," +
                                csv_text(run.summary.path) + "," +
                                std::string(sim::run_status_names[static_cast<std::size_t>(run.summary.status)]) + ",";
      for (const sim::EvaluationRow& row : run.evaluations) {
        out << start << row.step << "," << row.samples << "," << csv_number(row.bytes) << "," << csv_number(row.loss)
            << "," << csv_number(row.accuracy) << "\n";
      }
    }
  }
}

}  // namespace onebit::experiments
