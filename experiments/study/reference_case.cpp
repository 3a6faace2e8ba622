#include "experiments/study/reference_case.hpp"

#include <cmath>
#include <optional>
#include <span>

#include "device/base/error.hpp"
#include "experiments/options/recorded_methods.hpp"
#include "experiments/study/replay_log.hpp"

namespace onebit::experiments {
namespace {

double displacement_difference(std::span<const float> x, std::span<const double> reference, std::span<const float> x0) {
  double difference = 0, displacement = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x[i]) - reference[i];
    const double r = reference[i] - static_cast<double>(x0[i]);
    difference += d * d;
    displacement += r * r;
  }
  return difference == 0 ? 0 : std::sqrt(difference / displacement);
}

/// Takes all steps of a replay. Its log, if there is one, says how it ended, unless a file could not be read or
/// written.
void run_logged(Replay& replay, std::optional<ReplayLog>& log, const Replay::OnStep& use) {
  if (!log) return replay.run(use);
  try {
    replay.run([&](const sim::StepOutcome& outcome, const std::vector<float>& x) {
      log->take(outcome);
      use(outcome, x);
    });
  } catch (const IoError&) {
    throw;
  } catch (const NumericError& error) {
    log->fail(sim::RunStatus::diverged, "divergence", error.what());
    throw;
  } catch (const Error& error) {
    log->fail(sim::RunStatus::failed, "failure", error.what());
    throw;
  }
  log->finish();
}

}  // namespace

void Deviation::take(double difference, Index at_step) {
  if (std::isfinite(worst) && !(difference <= worst)) *this = {difference, at_step};
}

void compare_step(const sim::GradientTrace& trace, const std::string& name, Index step, const std::vector<float>& x,
                  CaseDeviation& deviation) {
  const auto parameters = static_cast<std::size_t>(trace.parameters());
  const auto row = [&](const auto& rows, std::size_t worker) {
    return std::span(rows).subspan(rows.size() == parameters ? 0 : worker * parameters, parameters);
  };
  deviation.first.take(displacement_difference(row(x, 0), trace.reference(name, step - 1), trace.x0()), step);
  if (!deviation.has_all) return;
  const std::vector<double> reference = trace.worker_reference(name, step - 1);
  for (std::size_t worker = 0; worker < static_cast<std::size_t>(trace.workers()); ++worker) {
    deviation.all.take(displacement_difference(row(x, worker), row(reference, worker), trace.x0()), step);
  }
}

ReplayPlan plan_replay(const sim::GradientTrace& trace, const std::string& name, const Settings& more,
                       std::optional<double> penalty) {
  RecordedCase recorded;
  if (!name.empty()) recorded = recorded_case(name, trace.attributes(name));
  Settings settings = recorded.settings;
  settings.insert(settings.end(), more.begin(), more.end());
  ReplayPlan plan{make_config(settings), penalty.value_or(recorded.penalty)};
  if (plan.config.workers != 1) plan.config.workers = trace.workers();
  if (!name.empty()) plan.config.optimizer.exchange.recorded = trace.recorded(name);
  return plan;
}

CaseDeviation replay_case(const sim::GradientTrace& trace, const ReplayPlan& plan, const std::string& name,
                          const ReplayOutput& output) {
  Replay replay(trace, plan);
  std::optional<sim::TraceWriter> writer;  // opened no earlier, so that a failed preparation leaves no file
  if (!output.parameters.empty()) {
    const Index rows = replay.local_weights() ? replay.workers() : 0;
    writer.emplace(output.parameters, trace.parameters(), output.overwrite, rows, trace.steps());
  }
  std::optional<ReplayLog> log;
  if (!output.log.empty()) log.emplace(output.log, output.overwrite, output.origin, trace, name, plan, replay);
  CaseDeviation deviation;
  deviation.has_all = !name.empty() && trace.has_worker_reference(name);
  run_logged(replay, log, [&](const sim::StepOutcome& outcome, const std::vector<float>& x) {
    if (writer) writer->write_step(outcome.step - 1, x);
    if (!name.empty()) compare_step(trace, name, outcome.step, x, deviation);
  });
  if (writer) writer->close();
  return deviation;
}

}  // namespace onebit::experiments
