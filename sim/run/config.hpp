#pragma once
// Every option of a run, typed and validated. experiments/ only parses text into these structures.

#include <string>

#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"
#include "sim/data/data.hpp"
#include "sim/models/model.hpp"

namespace onebit::sim {

/// Cadences of the log. Rows are written at the first step, at every multiple of their cadence, and at the last step;
/// every row of /workers comes with a row of /steps. A probed step also writes a row of /steps and,
/// if workers_every > 0, one of /workers.
struct LogConfig {
  Index every = 1;            ///< steps between rows of /steps
  Index workers_every = 200;  ///< steps between rows of /workers; a row reads every worker's errors; 0: none
  Index tensors_every = 10;   ///< steps between rows of /tensors; 0: none
  double flush_seconds = 2;   ///< longest time between flushes
  Index flush_every = 0;      ///< maximum number of steps between flushes; 0: no limit
  Index compression = 0;      ///< deflate level of the columns once the run has finished, 1 to 9; 0: none
};

/// Measurements that take extra passes, to compare the run with theory (sim/probe/theory_probe.hpp). They do not change
/// the run.
struct ProbeConfig {
  Index every = 0;      ///< steps between rows of /probes; 0: none
  Index curvature = 0;  ///< gradients of the power iteration for the largest curvature, two per iteration; 0: none
  double moved = 0.1;   ///< relative change of sqrt(v) above which a coordinate counts as moved
};

struct CheckpointConfig {
  Index every = 0;  ///< steps between checkpoints; 0: only when a signal stops the run
  Index keep = 2;   ///< how many of the newest to keep, also after the run has finished
};

/// Maximum number of examples that planned_evaluations gives to an evaluation.
inline constexpr Index kMostEvaluated = 8192;

struct EvalConfig {
  Index every = 0;     ///< steps between evaluations; 0: as planned_evaluations chooses
  Index examples = 0;  ///< maximum number, evenly spread over the split and always the same; 0: as
                       ///< planned_evaluations chooses
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
  Index accumulation = 1;  ///< passes whose gradients are averaged before the optimizer uses them
  Index steps = 0;         ///< number of steps; 0: follows from epochs
  double epochs = 0;       ///< number of epochs; 0: follows from steps; if both are 0, the run has 1,000 steps
  std::uint32_t seed = 1;  ///< seed of initial weights, sampling, dropout, noise and codecs
  std::string label;       ///< name of the run's arm in comparisons; does not affect the run
  std::string device = "cpu";
  int threads = 0;         ///< number of CPU threads of a process; 0: OMP_NUM_THREADS or, without it, one per core (MPI
                           ///< processes share the cores)
  bool graphs = true;      ///< whether GPUs replay the launches of a pass as CUDA graphs
  Index worker_group = 0;  ///< workers whose gradients are held at the same time; 0: chosen for speed and memory
  Index memory = 0;        ///< bytes that the run may take; 0: nine tenths of what is free
};

/// Checks ranges and combinations. Throws ConfigError naming the option.
void validate(const RunConfig& config);

/// Returns a run of `steps` steps that goes through the same stages quickly: the optimizer reaches its last stage after
/// the first few steps.
RunConfig with_short_stages(RunConfig config, Index steps);

/// Fills in what follows from a configuration: the model's default sizes and the number of workers. Throws what
/// validate throws.
RunConfig completed(RunConfig config);

/// Chooses the evaluation options that are left open (0), for a run of `steps` steps with `size` examples in the split.
/// The default is 21 evaluations of 8192 examples (more, but at most 40, if the number of steps is not a multiple of
/// 20), or fewer and smaller ones that take at most a fifth of the run. The cost is estimated, never measured, so that
/// logs are the same everywhere. An evaluated example costs at most half as much as a training example (a forward pass
/// instead of forward and backward), so half as many examples may be evaluated as are trained on. First each evaluation
/// uses fewer examples (at least 512); then there are fewer evaluations; then each uses still fewer examples. The
/// evaluations before the first and after the last step always take place. For one split, the sizes of the evaluations
/// depend only on the number of examples that the run trains on (workers x batch x accumulation x steps) and, if
/// eval.every is given, on the number of evaluations, so runs that agree in both stay comparable.
EvalConfig planned_evaluations(const RunConfig& config, Index steps, Index size);

/// Number of steps of a run over a training split of `examples` examples.
Index total_steps(const RunConfig& config, Index examples);

}  // namespace onebit::sim
