#pragma once
// Stability of the variance over a run, from its log alone (1-bit Adam, Tang et al. 2021, section 7.1).

#include <string>
#include <vector>

#include "sim/log/reader.hpp"

namespace onebit::analysis {

/// Stability ratio min(r, 1/r) at every logged step, where r is a norm of the variance divided by its value `lag` steps
/// earlier. After the freeze it is the ratio of the shadow variance. NaN if one of the two norms is unknown.
struct StabilitySeries {
  std::string norm;  ///< l1 or l2
  Index lag = 0;
  bool raw = false;           ///< whether it is the ratio of the stored variance instead of the corrected one
  std::vector<double> ratio;  ///< ratios, [rows of /steps]
};

/// Steps at which a ratio reaches a threshold, after the learning-rate warm-up; 0: the log shows no such step.
struct Stay {
  Index first = 0;   ///< the first step at or above the threshold
  Index from = 0;    ///< first step of the first stretch at or above it that is as long as the rule's dwell
  Index until = 0;   ///< last step of that stretch
  Index freeze = 0;  ///< the step at which the stretch reaches the dwell
};

/// Steps at which each rule ends the warm-up stage, for one threshold.
struct Threshold {
  double threshold = 0;
  Index published = 0;       ///< `--freeze published`: the first step at which the raw ratio reaches it; 0: never
  Stay stay;                 ///< steps at which the ratio of the corrected variance reaches it
  Index freeze_step = 0;     ///< the step of `--freeze auto`, as K of `--freeze fixed:K`; 0: the log shows none
  Index deepspeed_step = 0;  ///< freeze_step for DeepSpeed's configuration, which counts a dry run; 0: never
  double share = 0;          ///< freeze_step as a share of the run's steps
  double volume_ratio = 0;   ///< dense fp16 bytes / bytes of the run: 1 / (w + (1 - w) / 16), where w is the share
  double loss_then = 0;      ///< training loss at freeze_step
};

/// Stability of one tensor's variance.
struct TensorStability {
  std::string name;
  Index size = 0;
  Index stable_step = 0;  ///< step from which its ratio stays at or above the threshold; 0: never
  double last_ratio = 0;  ///< last known ratio before the freeze
  double drift = 0;       ///< l1 norm of the shadow / l1 norm of the frozen variance, at the last row; NaN: not frozen
  std::vector<double> ratio = {};  ///< stability ratios, [VarianceView::tensor_steps]
};

/// Drift of the variance from its frozen value, measured by probes.
struct Drift {
  std::vector<Index> steps;
  std::vector<double> norm_ratio;   ///< ||shadow||_1 / ||frozen||_1, both corrected for their bias
  std::vector<double> rate_drift;   ///< mean |ln| of the ratio of the rates 1/d
  std::vector<double> moved_share;  ///< share of the coordinates whose sqrt(v) moved by more than probe.moved
};

struct VarianceView {
  std::vector<Index> steps;    ///< steps of the rows of /steps
  std::vector<double> l1, l2;  ///< norms of the stored variance; after the freeze, of its shadow (NaN between probes)
  Index freeze_step = 0;       ///< step of the freeze; 0: not frozen
  Index own_lag = 0;           ///< lag of the run's freeze rule, with which it recorded its ratio; 0: none
  Index rule_lag = 0;          ///< lag of the series to which the thresholds apply
  Index rule_after = 0;  ///< first step to which the rule applies: the larger of learning-rate warm-up and freeze.after
  Index rule_dwell = 0;  ///< steps for which the ratio must stay at or above the threshold under `auto`
  std::vector<StabilitySeries> stability;
  std::vector<Threshold> thresholds;
  double tensor_threshold = 0;      ///< threshold of TensorStability::stable_step
  std::vector<Index> tensor_steps;  ///< steps of the rows of /tensors up to the freeze
  std::vector<TensorStability> tensors;
  Drift drift;
};

struct VarianceOptions {
  std::vector<Index> lags = {};  ///< lags in steps; empty: the run's own lag or a tenth of the run, and fractions of it
  std::vector<double> thresholds = {0.5, 0.8, 0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995, 0.999};
  double tensor_threshold = 0.96;
};

/// Returns the series to which the thresholds apply: the l1 norm of the corrected variance, at the rule's lag.
const StabilitySeries& rule_series(const VarianceView& view);

/// If the rule's ratio is not known at any step after the freeze, returns the freeze step. If the last step with a
/// known ratio is at most one lag after the freeze, and the norm of the variance is known at a later step, returns that
/// last step. Otherwise (for example, because probes after the freeze are one lag apart), and if nothing froze, returns
/// 0.
Index cut_off(const VarianceView& view);

/// Analyses the variance of a run. Throws ConfigError if the log has no variance or no steps, and IoError if the reader
/// does.
VarianceView view_variance(const sim::LogReader& log, const VarianceOptions& options = {});

}  // namespace onebit::analysis
