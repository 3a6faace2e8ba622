#include "sim/run/step_rows.hpp"

namespace onebit::sim {

RowsDue rows_due(const LogConfig& config, Index step, bool probed, Index steps) {
  const bool edge = step == 1 || step == steps;
  const auto due = [&](Index every) { return every > 0 && (step % every == 0 || edge); };
  const bool workers = due(config.workers_every) || (config.workers_every > 0 && probed);
  return {due(config.every) || workers || probed, workers, due(config.tensors_every)};
}

StepRows measure_rows(const MeasuredDevices& devices, const StepOutcome& outcome, const RowsDue& due) {
  StepRows rows;
  if (due.workers) rows.workers = measure_workers(devices, outcome);
  if (due.step) rows.step = measure_step(devices, outcome);
  if (rows.workers) measure_errors(devices, *rows.workers, *rows.step);
  return rows;
}

bool FlushClock::due(Index step) const {
  if (by_steps_ > 0 && step % by_steps_ == 0) return true;
  return std::chrono::duration<double>(Clock::now() - last_).count() >= seconds_;
}

}  // namespace onebit::sim
