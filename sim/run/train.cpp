#include "sim/run/train.hpp"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <new>

#include "device/base/error.hpp"
#include "sim/log/compact.hpp"
#include "sim/run/branch_log.hpp"
#include "sim/run/memory_plan.hpp"
#include "sim/run/resume.hpp"
#include "sim/run/run_header.hpp"
#include "sim/run/run_log.hpp"
#include "sim/run/step_rows.hpp"

namespace onebit::sim {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

/// One run in progress.
class Run {
 public:
  /// `log`: nullptr in processes other than the root.
  Run(VirtualCluster& cluster, const RunConfig& config, const std::string& path, RunLog* log, const RunState& state,
      const RunControl& control)
      : cluster_(cluster), config_(config), path_(path), log_(log), control_(control), state_(state) {}

  RunResult train() {
    try {
      if (cluster_.step() == 0 && state_.rows.evaluations == 0) evaluate(0, 0);
      while (cluster_.step() < cluster_.steps()) {
        if (cluster_.processes().any(control_.stop_requested())) return stop();
        step();
      }
    } catch (const NumericError& error) {
      return end(RunStatus::diverged, error.what(), "divergence");
    } catch (const WorkerError& error) {
      return end(RunStatus::failed, error.what(), "failure");
    } catch (const StopError& error) {
      return end(RunStatus::stopped, error.what() + way_on(), "stop");
    } catch (const DeviceError& error) {
      return end(RunStatus::failed, error.what() + way_on(), "failure");
    } catch (const std::bad_alloc&) {
      return end(RunStatus::failed, out_of_memory(control_.memory_plan), "failure");
    }
    const std::string failed_expectation = cluster_.optimizer().failed_expectation();
    if (!failed_expectation.empty()) return end(RunStatus::failed, failed_expectation, "failure");
    return {RunStatus::finished, ""};
  }

 private:
  void step() {
    const StepOutcome outcome = cluster_.advance();
    log_step(outcome);
    for (const optim::Event& event : outcome.report.events) append(Event{outcome.step, event.kind, event.text});
    const bool last = outcome.step == cluster_.steps();
    if (outcome.step % cluster_.evaluations().every == 0 || last) evaluate(outcome.step, outcome.samples);
    flush_when_due(outcome.step);
    checkpoint_when_due(outcome.step);
    report_progress(outcome);
  }

  void log_step(const StepOutcome& outcome) {
    const RowsDue due = rows_due(config_.log, outcome.step, outcome.probe.has_value(), cluster_.steps());
    append(outcome.step, outcome.report.traffic);
    state_.bytes += netmodel::sent_bytes(outcome.report.traffic).value;
    state_.compute_seconds += outcome.seconds.total();
    state_.codec_seconds += outcome.report.seconds.codec();
    StepRows rows = measure_rows(cluster_, outcome, due);
    if (rows.step) {
      StepRow& row = *rows.step;
      if (outcome.probe && outcome.report.phase == optim::Phase::compression) row.lr_drift = outcome.probe->rate_drift;
      // Times cover the steps since the previous row, so that their sums do not depend on the cadence.
      take_wall_time();
      row.wall_seconds = state_.wall_seconds;
      row.compute_seconds = state_.compute_seconds;
      row.codec_seconds = state_.codec_seconds;
      state_.wall_seconds = state_.compute_seconds = state_.codec_seconds = 0;
      append(row);
    }
    if (rows.workers) append(*rows.workers);
    if (outcome.probe) append(*outcome.probe);
    if (log_ != nullptr && due.tensors) append(measure_tensors(cluster_, outcome.step));
  }

  void evaluate(Index step, Index samples) {
    if (cluster_.data().size(config_.eval.split) == 0) return;
    take_wall_time();
    const Evaluation result = cluster_.evaluate();
    const double accuracy = cluster_.data().classes() > 0 ? result.accuracy() : not_applicable;
    EvaluationRow row{step, samples, result.mean_loss(), accuracy, state_.bytes, result.auc};
    if (cluster_.crosses_boundary()) {
      const Evaluation crossed = cluster_.evaluate(true);
      row.boundary_loss = crossed.mean_loss();
      row.boundary_auc = crossed.auc;
    }
    leave_out_time();
    append(row);
    if (!std::isfinite(result.loss)) {
      throw NumericError((config_.eval.split == DataSource::Split::holdout ? "held-out loss is not finite: "
                                                                           : "evaluated loss is not finite: ") +
                             cluster_.first_bad_tensor(),
                         "step " + std::to_string(step), "lower the learning rate or clip gradients");
    }
  }

  void flush_when_due(Index step) {
    if (log_ == nullptr || !flushes_.due(step)) return;
    log_->flush();
    flushes_.restart();
  }

  void checkpoint_when_due(Index step) {
    if (config_.checkpoint.every > 0 && step % config_.checkpoint.every == 0) checkpoint();
  }

  /// Writes a checkpoint. Puts the log on disk first, because the checkpoint counts its rows.
  void checkpoint() {
    take_wall_time();
    cluster_.processes().run([&] {
      if (log_ != nullptr) {
        log_->synchronize();
        state_.rows = log_->rows();
      }
      write_checkpoint(path_, cluster_, state_);
      if (log_ != nullptr) prune_checkpoints(path_, config_.checkpoint.keep);
    });
    flushes_.restart();
    leave_out_time();
  }

  /// Adds the wall time since the last call of this function or of leave_out_time().
  void take_wall_time() {
    const Clock::time_point now = Clock::now();
    state_.wall_seconds += seconds_between(last_time_, now);
    last_time_ = now;
  }
  void leave_out_time() { last_time_ = Clock::now(); }

  RunResult stop() {
    checkpoint();
    return end(RunStatus::stopped, "stopped by a signal", "stop");
  }

  void report_progress(const StepOutcome& outcome) {
    const Index samples = config_.workers * config_.batch * config_.accumulation;
    control_.on_step({outcome.step, cluster_.steps(), outcome.loss, samples});
  }

  /// Returns a clause on how the run can continue. What a device held is lost, but what is on disk is not.
  std::string way_on() const {
    const std::vector<CheckpointFile> files = checkpoints_of(path_);
    if (files.empty()) return "; there is no checkpoint to resume from; --checkpoint.every writes checkpoints";
    return "; --resume continues from the checkpoint of step " + std::to_string(files.front().step);
  }

  RunResult end(RunStatus status, const std::string& reason, const std::string& kind) {
    append(Event{cluster_.step(), kind, reason});
    return {status, reason};
  }

  template <class... Row>
  void append(const Row&... row) {
    if (log_ != nullptr) log_->append(row...);
  }

  VirtualCluster& cluster_;
  const RunConfig& config_;
  const std::string& path_;
  RunLog* log_;
  const RunControl& control_;
  RunState state_;
  FlushClock flushes_{config_.log};
  Clock::time_point last_time_ = Clock::now();  ///< time up to which the wall time is counted or left out
};

/// Throws ConfigError if there are checkpoints without a log, because they would be taken for those of the new log.
void refuse_stray_checkpoints(const std::string& path, Existing existing) {
  if (existing == Existing::replace || std::filesystem::exists(path)) return;
  const std::vector<CheckpointFile> files = checkpoints_of(path);
  if (files.empty()) return;
  throw ConfigError("found checkpoints of an earlier run, but its log is missing", files.front().path,
                    "move them away, or remove them with --overwrite");
}

RunResult start(VirtualCluster& cluster, const RunConfig& config, const std::string& path, Existing existing,
                const RunIdentity& identity, const RunControl& control) {
  const LogHeader header = make_header(cluster, config, identity);
  refuse_stray_checkpoints(path, existing);
  LogWriter writer(path, header, existing == Existing::replace);
  prune_checkpoints(path, 0);
  control.on_start();
  RunLog log(writer, {});
  RunState state;
  state.log = identity_of(header);
  const RunResult result = Run(cluster, config, path, &log, state, control).train();
  writer.close(result.status);
  return result;
}

RunResult resume(VirtualCluster& cluster, const RunConfig& config, const std::string& path, Existing existing,
                 const RunIdentity& identity, const RunControl& control) {
  Resumption resumption = prepare_resumption(cluster, path, existing == Existing::resume_replacing);
  for (const std::string& warning : resumption.warnings) control.on_warning(warning);
  remove_left_part(path);
  LogWriter writer(path, resumption.header, resumption.keep, resumption.seen, resumption.events);
  remove_checkpoints_after(path, cluster.step());
  prune_checkpoints(path, config.checkpoint.keep);
  control.on_start();
  RunLog log(writer, std::move(resumption.expected));
  std::string text = "from step " + std::to_string(cluster.step());
  text.append(existing == Existing::resume ? resumed_unchanged : "").append(", by onebit ");
  text.append(identity.program_version).append(": ").append(identity.command_line);
  writer.append(Event{cluster.step(), "resume", text});
  const RunResult result = Run(cluster, config, path, &log, resumption.state, control).train();
  writer.close(result.status);
  return result;
}

/// Trains in a process other than the root.
RunResult follow(VirtualCluster& cluster, const RunConfig& config, const std::string& path, Existing existing,
                 bool resumes, const RunControl& control) {
  RunState state;
  if (resumes) state = prepare_resumption(cluster, path, existing == Existing::resume_replacing).state;
  return Run(cluster, config, path, nullptr, state, control).train();
}

}  // namespace

RunResult branch(VirtualCluster& cluster, const RunConfig& config, const std::string& path, const RunIdentity& identity,
                 const RunControl& control, const LogReader& parent) {
  const LogHeader header = make_header(cluster, config, identity);
  check_parent(parent, header, cluster.step());
  refuse_stray_checkpoints(path, Existing::refuse);
  LogWriter writer(path, header, false);
  control.on_start();
  RunState state;
  state.log = identity_of(header);
  state.bytes = copy_log(parent, cluster.step(), writer);
  RunLog log(writer, {});
  state.rows = log.rows();
  const RunResult result = Run(cluster, config, path, &log, state, control).train();
  writer.close(result.status);
  return result;
}

RunResult train(VirtualCluster& cluster, const RunConfig& config, const std::string& path, Existing existing,
                const RunIdentity& identity, const RunControl& control) {
  const bool may_resume = existing == Existing::resume || existing == Existing::resume_replacing;
  const bool resumes = cluster.processes().any(cluster.is_root() && may_resume && std::filesystem::exists(path));
  if (!cluster.is_root()) return follow(cluster, config, path, existing, resumes, control);
  return (resumes ? resume : start)(cluster, config, path, existing, identity, control);
}

}  // namespace onebit::sim
