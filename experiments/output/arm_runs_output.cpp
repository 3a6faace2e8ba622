#include "experiments/output/arm_runs_output.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "analysis/pictures/plot.hpp"
#include "device/base/csv.hpp"
#include "device/base/files.hpp"
#include "experiments/output/comparison_output.hpp"
#include "experiments/output/pricing/time_output.hpp"
#include "experiments/output/screen.hpp"
#include "experiments/output/summary_output.hpp"

namespace onebit::experiments {
namespace {

using analysis::ArmFigures;
using analysis::PricedArms;
using analysis::Run;
using analysis::Summary;

std::string status_name(const Summary& run) {
  return sim::name_of(run.status);
}

std::string freeze_text(const Summary& run) {
  return run.freeze_step > 0 ? std::to_string(run.freeze_step) : "-";
}

/// Returns the value of the last evaluation; "-" if the run was stopped at a later step.
std::string final_text(const Summary& run, const std::string& value) {
  return run.is_outdated() ? "-" : value;
}

bool several_seeds(const std::vector<analysis::Arm>& arms) {
  return std::ranges::any_of(arms, [](const analysis::Arm& arm) { return arm.runs.size() > 1; });
}

/// Returns one row per run. best: the arm to mark.
Table runs_table(const std::vector<analysis::Arm>& arms, std::optional<std::size_t> best = std::nullopt) {
  Table table({"arm", "seed", "status", "final loss", "accuracy", "bytes/worker", "vs fp16", "wall", "vs fp32",
               "freeze step", "best loss", "dense step", "compressed step"});
  for (std::size_t a = 0; a < arms.size(); ++a) {
    for (const Run& one : arms[a].runs) {
      const Summary& run = one.summary;
      table.add({arms[a].name, std::to_string(run.seed), status_name(run), final_text(run, number(run.final_loss, 5)),
                 final_text(run, percent_text(run.accuracy)), bytes_text(run.bytes), ratio_text(run.ratio_fp16),
                 seconds_text(run.wall_seconds), ratio_text(run.ratio_fp32), freeze_text(run), number(run.best_loss, 5),
                 bytes_text(run.dense_step_bytes), bytes_text(run.compressed_step_bytes)});
      if (a == best) table.mark_best();
    }
  }
  return table;
}

/// Prints bytes, time and errors of the codecs in compressed steps, from each arm's first run.
void print_codecs(const std::vector<analysis::Arm>& arms, std::ostream& out) {
  const auto first = [](const analysis::Arm& arm) -> const Summary& { return arm.runs.front().summary; };
  const bool summed = std::ranges::any_of(
      arms, [&](const analysis::Arm& arm) { return std::isfinite(first(arm).worker_mean_distance); });
  std::vector<std::string> header = {"compressed steps", "up",       "down",      "vs fp16",
                                     "codec time",       "error up", "error down"};
  if (summed) header.emplace_back("distance");
  Table table(header);
  for (const analysis::Arm& arm : arms) {
    const Summary& run = first(arm);
    if (!std::isfinite(run.compressed_step_bytes)) continue;
    const double fp16 = run.ratio_fp16 * run.bytes / static_cast<double>(run.steps);
    std::vector<std::string> row = {arm.name,
                                    bytes_text(run.up_bytes),
                                    bytes_text(run.down_bytes),
                                    ratio_text(fp16 / run.compressed_step_bytes),
                                    seconds_text(run.codec_seconds),
                                    number(run.worker_codec_error, 3),
                                    number(run.server_codec_error, 3)};
    if (summed) row.push_back(number(run.worker_mean_distance, 3));
    table.add(row);
  }
  if (table.empty()) return;
  table.print(out);
  out << "\n";
}

/// Prints what the codecs of boundaries between workers send and keep.
void print_boundaries(const std::vector<analysis::Arm>& arms, std::ostream& out) {
  Table table({"boundary", "sent", "norm^2 forward", "norm^2 back", "cosine", "loss with codec", "AUC with codec"});
  for (const analysis::Arm& arm : arms) {
    const Summary& run = arm.runs.front().summary;
    if (!std::isfinite(run.boundary_loss)) continue;
    table.add({arm.name, percent_text(run.boundary_sent_share), percent_text(run.boundary_forward_kept),
               percent_text(run.boundary_backward_kept), number(run.boundary_gradient_cosine, 3),
               number(run.boundary_loss, 4), number(run.boundary_auc, 4)});
  }
  if (table.empty()) return;
  table.print(out);
  out << "\n";
}

/// Returns an arm's loss, as the mean over its runs, against the axis.
analysis::Curve mean_loss_curve(const ArmFigures& arm, std::size_t axis) {
  analysis::Curve curve{.label = arm.name, .x = {}, .y = {}};
  for (const analysis::LossCurve::Point& point : arm.curves[axis].points) {
    curve.x.push_back(point.x);
    curve.y.push_back(point.loss.mean);
  }
  return curve;
}

analysis::Curve variance_curve(const analysis::Arm& arm) {
  const Summary& run = arm.runs.front().summary;
  analysis::Curve curve{.label = arm.name, .x = {}, .y = {}, .mark_x = static_cast<double>(run.freeze_step)};
  const sim::LogReader log(run.path);
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

void print_details(const std::vector<analysis::Arm>& arms, const PricedArms& priced, std::ostream& out) {
  if (several_seeds(arms)) {
    runs_table(arms).print(out);
    out << "\n";
  }
  print_codecs(arms, out);
  print_boundaries(arms, out);
  communication_table(priced.arms).print(out);
  out << "\n";
  times_table(priced.arms).print(out);
  for (const std::string& line : computing_lines(priced.computing)) print_paragraph(out, line);
}

void print_arms(const std::vector<analysis::Arm>& arms, const PricedArms& priced, std::ostream& out) {
  out << "\n";
  if (several_seeds(arms)) {
    print_paragraph(out, baselines_of(priced.arms));
    arms_table(priced.arms).print(out);
  } else {
    runs_table(arms, lowest_loss(priced.arms)).print(out);
  }
  print_unfinished(priced.arms, out);
}

void write_csv(const std::vector<analysis::Arm>& arms, const std::string& path) {
  std::ostringstream file;
  file << "arm,seed,status,steps,freeze_step,masked,final_loss,best_loss,accuracy,bytes_per_worker,dense_step_bytes,"
          "compressed_step_bytes,up_bytes,down_bytes,codec_seconds,worker_codec_error,server_codec_error,"
          "worker_mean_distance,ratio_fp16,ratio_fp32,wall_seconds,log,auc,boundary_bytes,boundary_loss,boundary_auc,"
          "boundary_sent_share,boundary_forward_kept,boundary_backward_kept,boundary_gradient_cosine\n";
  file.precision(17);
  for (const analysis::Arm& arm : arms) {
    for (const Run& one : arm.runs) {
      const Summary& run = one.summary;
      file << csv_text(arm.name) << ',' << run.seed << ',' << status_name(run) << ',' << run.steps << ','
           << run.freeze_step << ',' << run.masked << ',' << run.final_loss << ',' << run.best_loss << ','
           << run.accuracy << ',' << run.bytes << ',' << run.dense_step_bytes << ',' << run.compressed_step_bytes << ','
           << run.up_bytes << ',' << run.down_bytes << ',' << run.codec_seconds << ',' << run.worker_codec_error << ','
           << run.server_codec_error << ',' << run.worker_mean_distance << ',' << run.ratio_fp16 << ','
           << run.ratio_fp32 << ',' << run.wall_seconds << ',' << csv_text(run.path) << ',' << run.auc << ','
           << run.boundary_bytes << ',' << run.boundary_loss << ',' << run.boundary_auc << ','
           << run.boundary_sent_share << ',' << run.boundary_forward_kept << ',' << run.boundary_backward_kept << ','
           << run.boundary_gradient_cosine << '\n';
    }
  }
  files::write(path, file.str());
}

std::vector<std::string> draw_pictures(const std::vector<analysis::Arm>& arms, const std::vector<ArmFigures>& figures,
                                       bool timed, const std::string& folder) {
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
  for (const ArmFigures& arm : figures) {
    steps.curves.push_back(mean_loss_curve(arm, 0));
    bytes.curves.push_back(mean_loss_curve(arm, 2));
  }
  for (const analysis::Arm& arm : arms) variance.curves.push_back(variance_curve(arm));
  std::vector<std::string> files = analysis::draw(steps, folder + "/loss-step");
  append(files, analysis::draw(bytes, folder + "/loss-bytes"));
  append(files, analysis::draw(variance, folder + "/variance-ratio"));
  for (std::size_t axis = 3; timed && axis < figures.front().curves.size(); ++axis) {
    const std::string& cluster = figures.front().curves[axis].cluster;
    analysis::Plot plot{.title = "Evaluated loss against the estimated time on " + cluster,
                        .x_label = "seconds",
                        .y_label = "evaluated loss",
                        .curves = {}};
    for (const ArmFigures& arm : figures) plot.curves.push_back(mean_loss_curve(arm, axis));
    append(files, analysis::draw(plot, folder + "/loss-time-" + cluster));
  }
  return files;
}

Json to_json(const std::vector<analysis::Arm>& arms, const PricedArms& priced,
             const std::vector<std::string>& pictures) {
  std::vector<Json> runs;
  std::vector<std::pair<std::string, Json>> seconds;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const ArmFigures& figures = priced.arms[a];
    seconds.emplace_back(arms[a].name, seconds_json(figures.seconds));
    for (std::size_t r = 0; r < arms[a].runs.size(); ++r) {
      const analysis::RunTimes& times = figures.times[r];
      std::vector<std::pair<std::string, Json>> own;
      for (std::size_t c = 0; c < times.seconds.size(); ++c) {
        own.emplace_back(figures.seconds[c].cluster, times.seconds[c]);
      }
      Summary summary = arms[a].runs[r].summary;
      summary.communication = times.communication;
      runs.push_back(
          Json::object({{"arm", arms[a].name}, {"run", to_json(summary)}, {"estimated_seconds", Json::object(own)}}));
    }
  }
  return Json::object({{"runs", Json::array(runs)},
                       {"seconds", Json::object(seconds)},
                       {"computing", computing_json(priced.computing)},
                       {"pictures", Json::texts(pictures)}});
}

}  // namespace onebit::experiments
