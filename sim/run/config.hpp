#pragma once
// Every option of a run, typed and validated. experiments/ only turns text into it.

#include <string>

#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "sim/data/data.hpp"
#include "sim/models/model.hpp"

namespace onebit::sim {

/// Rows are written at the first step, at every multiple of a cadence, and at the last step; one of /steps also with
/// every one of /workers.
struct LogConfig {
  Index every = 1;            ///< steps between rows of /steps
  Index workers_every = 200;  ///< steps between rows of /workers; they read every worker's errors
  Index tensors_every = 10;   ///< steps between rows of /tensors
  double flush_seconds = 2;   ///< longest time between flushes
  Index flush_every = 0;      ///< most steps between flushes; 0: any number
  Index compression = 0;      ///< of the columns once the run has finished: deflate level 1 to 9; 0: none
};

/// What costs passes of its own, to hold a run against theory (sim/probe/theory_probe.hpp). The run itself stays as it
/// is.
struct ProbeConfig {
  Index every = 0;      ///< steps between rows of /probes; 0: none
  Index curvature = 0;  ///< gradients for a power iteration, two a step, for the largest curvature; 0: none
  double moved = 0.1;   ///< relative change of sqrt(v) from which on a coordinate has moved
};

struct CheckpointConfig {
  Index every = 0;  ///< steps between checkpoints; 0: only where a signal stops the run
  Index keep = 2;   ///< the newest ones, also when the run is done
};

/// The examples of an evaluation where a run can afford them.
inline constexpr Index kMostEvaluated = 8192;

struct EvalConfig {
  Index every = 0;     ///< steps between evaluations; 0: as planned_evaluations says
  Index examples = 0;  ///< evenly spread over the split, always the same; all where there are fewer; 0: as above
  DataSource::Split split = DataSource::Split::holdout;
};

struct RunConfig {
  ModelConfig model;
  DataConfig data;
  optim::OptimizerConfig optimizer;
  optim::ScheduleConfig schedule;
  LogConfig log;
  ProbeConfig probe;
  CheckpointConfig checkpoint;
  EvalConfig eval;
  Index workers = 16;
  Index batch = 16;        ///< examples per worker and pass
  Index accumulation = 1;  ///< passes whose gradients are averaged before the optimizer sees them
  Index steps = 0;         ///< 0: from epochs
  double epochs = 0;       ///< 0: from steps; both 0: 1,000 steps
  std::uint32_t seed = 1;  ///< initial weights and sampling
  std::string device = "cpu";
  int threads = 0;         ///< 0: one per core
  bool graphs = true;      ///< GPUs replay the launches of a pass as CUDA graphs
  Index worker_group = 0;  ///< workers whose gradients exist at a time; 0: as many as are fast and fit
  Index memory = 0;        ///< bytes that the run may take; 0: what the system has
};

/// Checks ranges and combinations. Throws ConfigError naming the option.
void validate(const RunConfig& config);

/// The same run with its stages one right after another: the optimizer is in its last one after the first few steps.
RunConfig with_short_stages(RunConfig config, Index steps);

/// The configuration with what follows from it: the model's own sizes, and how many workers there are. Throws what
/// validate throws.
RunConfig completed(RunConfig config);

/// What of the evaluations is left open (0), for a run of so many steps with `size` examples in the split: 21 of them,
/// of 8192 examples, or of as many and as large ones as take at most a fifth of the run. That is counted, never
/// measured, so that logs are the same everywhere: an evaluated example costs at most half of one that is trained on
/// (forward, out of forward and backward), so that half as many examples may be evaluated as are trained on. First
/// evaluations become smaller, to 512 examples, then fewer, then smaller again; those before the first and after the
/// last step always are. Sizes depend on the examples trained on alone: runs that train on as many stay comparable.
EvalConfig planned_evaluations(const RunConfig& config, Index steps, Index size);

/// Steps of a run over a training split of `examples` examples.
Index total_steps(const RunConfig& config, Index examples);

}  // namespace onebit::sim
