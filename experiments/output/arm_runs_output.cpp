#include "experiments/output/arm_runs_output.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <numeric>
#include <sstream>

#include "analysis/compare/paired.hpp"
#include "analysis/pictures/plot.hpp"
#include "device/base/files.hpp"
#include "experiments/output/interval_output.hpp"
#include "experiments/output/summary_output.hpp"
#include "experiments/output/time_output.hpp"

namespace onebit::experiments {
namespace {

using analysis::Interval;
using analysis::Summary;

std::string status_name(const Summary& run) {
  return std::string(sim::run_status_names[static_cast<std::size_t>(run.status)]);
}

std::string freeze_text(const Summary& run) {
  return run.freeze_step > 0 ? std::to_string(run.freeze_step) : "-";
}

std::string interval_text(const Interval& interval, double factor, int digits, const std::string& unit) {
  if (!std::isfinite(interval.mean)) return "-";
  const Interval scaled{factor * interval.mean, factor * interval.half_width, interval.count};
  return experiments::interval_text(scaled, digits) + unit;
}

bool several_seeds(const std::vector<ArmRuns>& arms) {
  return std::any_of(arms.begin(), arms.end(), [](const ArmRuns& arm) { return arm.runs.size() > 1; });
}

void print_runs(const std::vector<ArmRuns>& arms, std::ostream& out) {
  Table table({"arm", "seed", "status", "final loss", "best loss", "accuracy", "freeze step", "bytes/worker",
               "dense step", "compressed step", "vs fp16", "vs fp32", "wall"});
  for (const ArmRuns& arm : arms) {
    for (const Summary& run : arm.runs) {
      table.add({arm.name, std::to_string(run.seed), status_name(run), number(run.final_loss, 5),
                 number(run.best_loss, 5), percent_text(run.accuracy), freeze_text(run), bytes_text(run.bytes),
                 bytes_text(run.dense_step_bytes), bytes_text(run.compressed_step_bytes), ratio_text(run.ratio_fp16),
                 ratio_text(run.ratio_fp32), seconds_text(run.wall_seconds)});
    }
  }
  table.print(out);
}

/// Returns a figure of every run; NaN if the run did not finish.
std::vector<double> of_finished(const ArmRuns& arm, double Summary::*figure) {
  std::vector<double> values;
  for (const Summary& run : arm.runs) {
    values.push_back(run.status == sim::RunStatus::finished ? run.*figure : std::nan(""));
  }
  return values;
}

std::string paired_text(const ArmRuns& baseline, const ArmRuns& arm) {
  if (&baseline == &arm) return "-";
  return interval_text(analysis::paired_relative_difference(of_finished(baseline, &Summary::final_loss),
                                                            of_finished(arm, &Summary::final_loss)),
                       100, 3, "%");
}

/// Prints means over seeds and paired differences, except for an arm with a run that did not finish.
void print_arms(const std::vector<ArmRuns>& arms, std::ostream& out) {
  Table table({"arm", "finished", "final loss (95% interval)", "accuracy", "paired difference to " + arms.front().name,
               "to the arm above"});
  const ArmRuns* above = &arms.front();
  for (const ArmRuns& arm : arms) {
    const std::vector<double> losses = of_finished(arm, &Summary::final_loss);
    const std::vector<double> accuracies = of_finished(arm, &Summary::accuracy);
    const auto done = std::count_if(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); });
    table.add({arm.name, std::to_string(done) + "/" + std::to_string(losses.size()),
               interval_text(analysis::mean_interval(losses), 1, 5, ""),
               interval_text(analysis::mean_interval(accuracies), 100, 4, "%"), paired_text(arms.front(), arm),
               paired_text(*above, arm)});
    above = &arm;
  }
  table.print(out);
}

/// Prints bytes, time and errors of the codecs in compressed steps, from each arm's first run.
void print_codecs(const std::vector<ArmRuns>& arms, std::ostream& out) {
  Table table({"compressed steps", "up", "down", "vs fp16", "codec time/step", "worker codec error",
               "server codec error", "distance from the mean"});
  bool any = false;
  for (const ArmRuns& arm : arms) {
    const Summary& run = arm.runs.front();
    if (!std::isfinite(run.compressed_step_bytes)) continue;
    any = true;
    const double fp16 = run.ratio_fp16 * run.bytes / static_cast<double>(run.steps);
    table.add({arm.name, bytes_text(run.up_bytes), bytes_text(run.down_bytes),
               ratio_text(fp16 / run.compressed_step_bytes), seconds_text(run.codec_seconds),
               number(run.worker_codec_error, 3), number(run.server_codec_error, 3),
               number(run.worker_mean_distance, 3)});
  }
  if (!any) return;
  table.print(out);
  out << "\n";
}

std::vector<NamedCommunication> communication_of(const std::vector<ArmRuns>& arms) {
  std::vector<NamedCommunication> all;
  for (const ArmRuns& arm : arms) all.push_back({arm.name, arm.runs.front().communication});
  return all;
}

/// Returns the time of a run of each arm on each cluster, over the arm's runs that finished.
std::vector<NamedSeconds> seconds_of(const std::vector<ArmRuns>& arms, const RunTimes& times) {
  std::vector<NamedSeconds> all;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    all.push_back({arms[a].name, {}});
    for (std::size_t c = 0; c < times.clusters.size(); ++c) {
      std::vector<double> seconds;
      for (std::size_t r = 0; r < arms[a].runs.size(); ++r) {
        const Summary& run = arms[a].runs[r];
        const bool finished = run.status == sim::RunStatus::finished;
        if (finished) seconds.push_back(times.timelines[a][r][c].at(run.steps));
      }
      all.back().seconds.push_back({times.clusters[c], analysis::mean_interval(seconds)});
    }
  }
  return all;
}

/// Returns the mean evaluated loss over the arm's seeds, at the steps that every run evaluated.
template <class X>
analysis::Curve mean_loss_curve(const ArmRuns& arm, X x) {
  std::vector<sim::EvaluationRow> first;
  std::map<Index, std::vector<double>> losses;
  for (const Summary& run : arm.runs) {
    const std::vector<sim::EvaluationRow> rows = sim::LogReader(run.path).evaluations();
    for (const sim::EvaluationRow& row : rows) losses[row.step].push_back(row.loss);
    if (first.empty()) first = rows;
  }
  analysis::Curve curve{.label = arm.name, .x = {}, .y = {}};
  for (const sim::EvaluationRow& row : first) {
    const std::vector<double>& all = losses[row.step];
    if (all.size() != arm.runs.size()) continue;
    curve.x.push_back(x(row));
    curve.y.push_back(std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size()));
  }
  return curve;
}

analysis::Curve variance_curve(const ArmRuns& arm) {
  analysis::Curve curve{
      .label = arm.name, .x = {}, .y = {}, .mark_x = static_cast<double>(arm.runs.front().freeze_step)};
  const sim::LogReader log(arm.runs.front().path);
  for (const sim::StepRow& row : log.steps()) {
    curve.x.push_back(static_cast<double>(row.step));
    curve.y.push_back(row.variance_ratio_corrected);
  }
  return curve;
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

void print_comparison(const std::vector<ArmRuns>& arms, const RunTimes& times, std::ostream& out) {
  print_runs(arms, out);
  for (const ArmRuns& arm : arms) {
    for (const Summary& run : arm.runs) {
      if (run.status != sim::RunStatus::finished) out << arm.name << " seed " << run.seed << ": " << run.reason << "\n";
    }
  }
  out << "\n";
  if (several_seeds(arms)) {
    print_arms(arms, out);
    out << "\n";
  }
  print_codecs(arms, out);
  communication_table(communication_of(arms)).print(out);
  out << "\n";
  times_table(seconds_of(arms, times)).print(out);
  for (const std::string& line : computing_lines(times.computing)) out << line << "\n";
}

void write_csv(const std::vector<ArmRuns>& arms, const std::string& path) {
  std::ostringstream file;
  file << "arm,seed,status,steps,freeze_step,masked,final_loss,best_loss,accuracy,bytes_per_worker,dense_step_bytes,"
          "compressed_step_bytes,up_bytes,down_bytes,codec_seconds,worker_codec_error,server_codec_error,"
          "worker_mean_distance,ratio_fp16,ratio_fp32,wall_seconds,log\n";
  file.precision(17);
  for (const ArmRuns& arm : arms) {
    for (const Summary& run : arm.runs) {
      file << arm.name << ',' << run.seed << ',' << status_name(run) << ',' << run.steps << ',' << run.freeze_step
           << ',' << run.masked << ',' << run.final_loss << ',' << run.best_loss << ',' << run.accuracy << ','
           << run.bytes << ',' << run.dense_step_bytes << ',' << run.compressed_step_bytes << ',' << run.up_bytes << ','
           << run.down_bytes << ',' << run.codec_seconds << ',' << run.worker_codec_error << ','
           << run.server_codec_error << ',' << run.worker_mean_distance << ',' << run.ratio_fp16 << ','
           << run.ratio_fp32 << ',' << run.wall_seconds << ',' << std::quoted(run.path, '"', '"') << '\n';
    }
  }
  files::write(path, file.str());
}

std::vector<std::string> draw_pictures(const std::vector<ArmRuns>& arms, const RunTimes& times, bool timed,
                                       const std::string& folder) {
  analysis::Plot steps{
      .title = "Evaluated loss against step", .x_label = "step", .y_label = "evaluated loss", .curves = {}};
  analysis::Plot bytes{.title = "Evaluated loss against bytes sent per worker",
                       .x_label = "bytes sent per worker",
                       .y_label = "evaluated loss",
                       .log_x = true,
                       .curves = {}};
  analysis::Plot variance{
      .title = "Stability of the variance: ||v(t)||_1 against ||v(t - lag)||_1, dashed line: freeze step",
      .x_label = "step",
      .y_label = "min(r, 1/r)",
      .legend = "bottom right",
      .curves = {}};
  for (const ArmRuns& arm : arms) {
    steps.curves.push_back(mean_loss_curve(arm, [](const auto& row) { return static_cast<double>(row.step); }));
    bytes.curves.push_back(mean_loss_curve(arm, [](const auto& row) { return row.bytes; }));
    variance.curves.push_back(variance_curve(arm));
  }
  std::vector<std::string> files = analysis::draw(steps, folder + "/loss-step");
  append(files, analysis::draw(bytes, folder + "/loss-bytes"));
  append(files, analysis::draw(variance, folder + "/variance-ratio"));
  for (std::size_t c = 0; timed && c < times.clusters.size(); ++c) {
    const std::string& cluster = times.clusters[c];
    analysis::Plot plot{.title = "Evaluated loss against the estimated time on " + cluster,
                        .x_label = "seconds",
                        .y_label = "evaluated loss",
                        .curves = {}};
    for (std::size_t a = 0; a < arms.size(); ++a) {
      const analysis::Timeline& timeline = times.timelines[a].front()[c];
      plot.curves.push_back(mean_loss_curve(arms[a], [&](const auto& row) { return timeline.at(row.step); }));
    }
    append(files, analysis::draw(plot, folder + "/loss-time-" + cluster));
  }
  return files;
}

Json to_json(const std::vector<ArmRuns>& arms, const RunTimes& times, const std::vector<std::string>& pictures) {
  std::vector<Json> runs, files;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    for (std::size_t r = 0; r < arms[a].runs.size(); ++r) {
      const Summary& run = arms[a].runs[r];
      std::vector<std::pair<std::string, Json>> own;
      for (std::size_t c = 0; c < times.clusters.size(); ++c) {
        own.emplace_back(times.clusters[c], times.timelines[a][r][c].at(run.steps));
      }
      runs.push_back(
          Json::object({{"arm", arms[a].name}, {"run", to_json(run)}, {"estimated_seconds", Json::object(own)}}));
    }
  }
  std::vector<std::pair<std::string, Json>> seconds;
  for (const NamedSeconds& arm : seconds_of(arms, times)) seconds.emplace_back(arm.arm, seconds_json(arm.seconds));
  for (const std::string& picture : pictures) files.emplace_back(picture);
  return Json::object({{"runs", Json::array(runs)},
                       {"seconds", Json::object(seconds)},
                       {"computing", computing_json(times.computing)},
                       {"pictures", Json::array(files)}});
}

}  // namespace onebit::experiments
