#include "experiments/output/run_output.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/text.hpp"
#include "experiments/output/output.hpp"
#include "experiments/output/screen.hpp"

namespace onebit::experiments {
namespace {

/// Returns "final loss 1.2345, accuracy 61.5%"; for a run that was stopped after a later step than its last evaluation,
/// "loss 1.2345 at the evaluation of step 50, accuracy 61.5%".
std::string loss_text(const analysis::Summary& run) {
  if (std::isnan(run.final_loss)) return "no final loss";
  const bool stopped = run.is_outdated();
  std::string text = (stopped ? "loss " : "final loss ") + number(run.final_loss, 5);
  if (stopped) text += " at the evaluation of step " + std::to_string(run.evaluated);
  if (std::isfinite(run.accuracy)) text += ", accuracy " + percent_text(run.accuracy);
  if (std::isfinite(run.auc)) text += ", AUC " + number(run.auc, 4);
  return text;
}

/// Names the next command; empty for a run that was stopped, because 'onebit run' itself says how to continue it.
std::string way_on(const analysis::Summary& run) {
  if (run.status == sim::RunStatus::stopped) return "";
  const bool ended = run.status == sim::RunStatus::finished;
  return "; 'onebit analyze " + run.path + (ended ? "' examines it" : "' says what went wrong");
}

/// Returns "2.82x less than dense fp32"; empty for a ratio that is not known.
std::string than_text(double ratio, const std::string& dense) {
  if (!std::isfinite(ratio)) return "";
  if (ratio == 1) return "as much as " + dense;
  return ratio > 1 ? ratio_text(ratio) + " less than " + dense : ratio_text(1 / ratio) + " more than " + dense;
}

}  // namespace

std::string sent_text(double bytes, double ratio_fp32, double ratio_fp16) {
  const std::string fp32 = than_text(ratio_fp32, "dense fp32"), fp16 = than_text(ratio_fp16, "fp16");
  return "each worker sent " + bytes_text(bytes) + (fp32.empty() ? "" : ", " + fp32) +
         (fp16.empty() ? "" : " (" + fp16 + ")");
}

void print_evaluations(const sim::PreparedRun& run, std::ostream& out) {
  const sim::EvalConfig& eval = run.config.eval;
  const sim::DataSource& data = *run.resources.data;
  const Index size = data.size(eval.split);
  if (size > 0) {
    print_paragraph(out, "evaluation: " + std::to_string(std::min(eval.examples, size)) + " of " +
                             std::to_string(size) + " examples every " + std::to_string(eval.every) + " steps");
  }
  if (!data.ceiling().empty()) print_paragraph(out, data.ceiling());
}

void print_start(const sim::PreparedRun& run, std::ostream& out) {
  const sim::RunConfig& config = run.config;
  const Index steps = sim::total_steps(config, run.resources.data->size(sim::DataSource::Split::train));
  std::string text = config.optimizer.name + ": " + std::to_string(config.workers) + " workers, ";
  text.append(std::to_string(steps)).append(" steps; memory ");
  text.append(bytes_text(static_cast<double>(run.plan.total()))).append(" of ");
  text.append(bytes_text(static_cast<double>(run.plan.limit))).append(" (see --dry-run)");
  print_paragraph(out, text);
  print_evaluations(run, out);
}

void print_answer(const analysis::Summary& summary, std::ostream& out) {
  const std::string status = sim::name_of(summary.status);
  const bool ended = summary.status == sim::RunStatus::finished;
  const std::string steps = std::to_string(summary.steps) + (summary.steps == 1 ? " step" : " steps");
  const std::string after = summary.is_outdated() ? "; " + steps + " done" : " after " + steps;
  const std::string state = ended ? "" : status + ": ";
  out << "\n";
  print_paragraph(out, state + loss_text(summary) + after + "; " + sent_text(summary.bytes, summary.ratio_fp32),
                  {status, summary.status == sim::RunStatus::stopped ? Tone::warning : Tone::bad});
  print_paragraph(out, "log: " + summary.path + way_on(summary));
}

}  // namespace onebit::experiments
