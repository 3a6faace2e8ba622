#pragma once

#include "device/comm/state.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Throws ConfigError, naming the option, if a hyper-parameter of 0/1 Adam is out of range.
void check_zero_one(const ZeroOneConfig& config);

/// The event of the step after which the variance is no longer updated. masked: number of masked coordinates.
Event variance_frozen(Index variance_updates, Index updates, Index masked);

/// Kind of step, by what the workers of 0/1 Adam exchange.
enum class Round {
  full,     ///< the gradients, uncompressed; the variance is updated
  one_bit,  ///< the gradients, compressed; the variance is not updated
  sync,     ///< the drifts since the last synchronisation, compressed; the variance is frozen
  silent,   ///< nothing
};

/// The phase that a step with this round belongs to: warm-up (full), compression (one_bit) or local steps.
Phase phase_of(Round round);

/// Returns the number of steps of a run whose variance is frozen after the given share of them, which must be above 0
/// (StepSchedule::usual_steps).
Index usual_zero_one_steps(const OptimizerConfig& config, double share);

/// The communication schedule of 0/1 Adam (Lu et al. 2023, section 4, as in the released code). Multiples of an
/// interval are counted as if a dry run preceded step 1, as in the released code; var_freeze_step and last_step do not
/// count that dry run. The variance is updated at multiples of 2^floor(j / var_update_scaler), where j is the number of
/// updates so far. After var_freeze_step steps it is frozen. From then on, workers synchronise at multiples of an
/// interval that doubles every local_step_scaler steps, up to local_step_clipper.
class ZeroOneSchedule {
 public:
  /// Starts a schedule before its first step. last_step: a step that is never silent, so that the run ends with one
  /// model; 0: none.
  explicit ZeroOneSchedule(const ZeroOneConfig& config, Index last_step = 0) : config_(config), last_step_(last_step) {}

  /// The round of the next step.
  Round next();

  void visit_state(device::StateVisitor& visitor);

 private:
  Round next_shared();
  Round next_local();

  ZeroOneConfig config_;
  Index last_step_;
  Index count_ = 1;  ///< number of the next step; also the number of steps so far if a dry run counts as one
  Index variance_interval_ = 1;
  Index variance_updates_ = 0;  ///< variance updates at this interval
  Index local_interval_ = 1;
  Index local_steps_ = 0;  ///< steps at this interval
};

}  // namespace onebit::optim
