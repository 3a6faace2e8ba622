#pragma once
// Quirks: what DeepSpeed's released code (0.19.6, fp32 path) does differently from the papers. They are grouped by the
// optimizers that share them, and fixed at construction. In paper semantics every field is false.

#include "optim/config.hpp"

namespace onebit::optim {

/// Quirks of Adam, LAMB and the optimizers that are built on them.
struct AdamQuirks {
  /// Applies no bias correction to the moments or to 1-bit LAMB's c_avg.
  bool keeps_bias = false;

  static AdamQuirks of(const OptimizerConfig& config);
};

/// Quirks of 1-bit Adam and 1-bit LAMB.
struct TwoStageQuirks {
  /// Averages the gradient of the first step and discards it.
  bool dry_run = false;
  /// Interprets K in `fixed:K` as a number of steps that includes the dry run: K-1 dense updates (at least 1) come
  /// before compression.
  bool counts_steps = false;
  /// Freezes the whole variance permanently: neither variance_refresh nor freeze.scope tensor is available.
  bool freezes_once = false;
  /// Moves coordinates with v = 0 like all others.
  bool masks_nothing = false;
  /// Includes padding in the scales and keeps errors for it. For 1-bit LAMB, see keeps_padding.
  bool padding_as_data = false;
  /// Exchanges and compresses nothing if there is a single worker.
  bool idle_alone = false;

  static TwoStageQuirks of(const OptimizerConfig& config);
};

/// Quirks of 1-bit LAMB in addition to TwoStageQuirks.
struct OnebitLambQuirks {
  /// Leaves trust ratios of exactly 1 out of c_avg, so a tensor that had no other ratio does not move after the freeze.
  bool skips_unit_ratios = false;
  /// Leaves the fresh variance at 0, instead of starting it at v, if freeze_step is 0 or 1.
  bool misses_early_freeze = false;
  /// Divides by the norm of a tensor's momentum at the freeze even if it is zero. This program throws an error instead.
  bool divides_by_zero = false;
  /// Pads the fused vector once and never zeroes the padding again: the padding in the result of each step is the
  /// padding in the input of the next step.
  bool keeps_padding = false;

  static OnebitLambQuirks of(const OptimizerConfig& config);
};

/// Quirks of 0/1 Adam.
struct ZeroOneAdamQuirks {
  /// Averages the gradient of the first step and discards it.
  bool dry_run = false;
  /// Lets the last step of the run be silent, so that the workers may end with different weights.
  bool may_end_silent = false;
  /// Moves coordinates with v = 0 like all others.
  bool masks_nothing = false;
  /// Includes padding in the scales and keeps errors for it.
  bool padding_as_data = false;
  /// Exchanges nothing if there is a single worker. Its 1-bit rounds then leave the momentum unchanged.
  bool idle_alone = false;
  /// Keeps no anchor but subtracts the drift at a synchronisation: rounding lets the workers' weights diverge, and
  /// weight decay leaks into the momentum.
  bool subtracts_drift = false;

  static ZeroOneAdamQuirks of(const OptimizerConfig& config);
};

/// Configuration of the exchange. padding_as_data: value of the quirk with this name.
compress::ExchangeConfig exchange_of(const OptimizerConfig& config, bool padding_as_data);

}  // namespace onebit::optim
