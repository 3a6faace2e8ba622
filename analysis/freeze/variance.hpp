#pragma once
// When the variance was stable, from a log alone (1-bit Adam, Tang et al. 2021, section 7.1).

#include <string>
#include <vector>

#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// min(r, 1/r) of a norm of the variance to its value `lag` steps before, at every logged step; NaN where there is none
/// or the variance is frozen.
struct StabilitySeries {
  std::string norm;  ///< l1, l2
  Index lag = 0;
  bool raw = false;           ///< of the variance as it is stored; else of the one that preconditions
  std::vector<double> ratio;  ///< [rows of /steps]
};

/// Where a ratio is at a threshold, after the learning-rate warm-up; 0: nowhere, as far as the log tells.
struct Stay {
  Index first = 0;   ///< the first step at the threshold
  Index from = 0;    ///< first step of the first stretch that spans the rule's dwell
  Index until = 0;   ///< its last step
  Index freeze = 0;  ///< the step at which it spans the dwell
};

/// Where the rules end the warm-up stage with a threshold.
struct Threshold {
  double threshold = 0;
  Index published = 0;       ///< `--freeze published`: the first step at which the raw ratio is there; 0: never
  Stay stay;                 ///< of the ratio of the variance that preconditions
  Index freeze_step = 0;     ///< `--freeze auto`, as `--freeze fixed:K` takes it; 0: never, as far as the log tells
  Index deepspeed_step = 0;  ///< as DeepSpeed's configuration takes it: it counts a dry run; 0: never
  double share = 0;          ///< of the run's steps
  double volume_ratio = 0;   ///< dense fp16 bytes over those of the run: 1 / (w + (1 - w) / 16), w the share
  double loss_then = 0;      ///< training loss at that step
};

/// A tensor's own variance.
struct TensorStability {
  std::string name;
  Index size = 0;
  Index stable_step = 0;  ///< from which on its ratio stays at the threshold or above; 0: never
  double last_ratio = 0;  ///< before the freeze
  double drift = 0;       ///< l1 norm of the shadow over that of the frozen variance, last row; NaN without probes
  std::vector<double> ratio = {};  ///< [tensor_steps of the view]
};

/// What became of a frozen variance.
struct Drift {
  std::vector<Index> steps;
  std::vector<double> norm_ratio;  ///< ||shadow||_1 / ||frozen||_1, both without their bias
  std::vector<double> rate_drift;  ///< mean |ln| of the ratio of rates 1/d
  std::vector<double> moved_share;
};

struct VarianceView {
  std::vector<Index> steps;    ///< of the rows of /steps
  std::vector<double> l1, l2;  ///< as it is stored; the shadow's where there are probes at all steps
  Index freeze_step = 0;       ///< 0: not frozen
  Index rule_lag = 0;          ///< of the thresholds
  Index rule_after = 0;        ///< the rule waits for so many steps: learning-rate warm-up, freeze.after
  Index rule_dwell = 0;        ///< steps that `auto` wants the ratio to stay
  std::vector<StabilitySeries> stability;
  std::vector<Threshold> thresholds;
  std::vector<Index> tensor_steps;  ///< rows of /tensors until the freeze
  std::vector<TensorStability> tensors;
  Drift drift;
};

struct VarianceOptions {
  std::vector<Index> lags = {};  ///< none: the run's own or a tenth of the run, and parts of that
  std::vector<double> thresholds = {0.5, 0.8, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995, 0.999};
  double tensor_threshold = 0.96;
};

/// The series that the thresholds are sought in: the l1 norm of the variance that preconditions, over the rule's lag.
const StabilitySeries& rule_series(const VarianceView& view);

/// Throws ConfigError where the log has no variance or no steps, IoError as the reader does.
VarianceView view_variance(const sim::LogReader& log, const VarianceOptions& options = {});

}  // namespace onebit::analysis
