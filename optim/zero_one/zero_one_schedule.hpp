#pragma once

#include "device/comm/state.hpp"
#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Throws ConfigError naming the hyper-parameter that is out of range.
void check_zero_one(const ZeroOneConfig& config);

/// The event of the step after which the variance is updated no more; masked: coordinates.
Event variance_frozen(Index variance_updates, Index updates, Index masked);

/// What the workers of 0/1 Adam exchange in a step.
enum class Round {
  full,     ///< the gradients, uncompressed: updates the variance
  one_bit,  ///< the gradients, compressed: the variance stays
  sync,     ///< what they moved since they met last, compressed; the variance is frozen
  silent,   ///< nothing
};

/// When 0/1 Adam talks (Lu et al. 2023, section 4, as the released code does it). Steps are counted as there, where a
/// dry run came before the first. The variance is updated at multiples of an interval that doubles after every
/// var_update_scaler updates, 2^floor(j/kappa). After var_freeze_step steps it is frozen; from then on workers meet at
/// multiples of an interval that doubles every local_step_scaler steps up to local_step_clipper.
class ZeroOneSchedule {
 public:
  /// last_step: one that is not silent, so that the run ends with one model; 0: as the intervals say.
  explicit ZeroOneSchedule(const ZeroOneConfig& config, Index last_step = 0) : config_(config), last_step_(last_step) {}

  /// The round of the next step.
  Round next();

  void visit_state(device::StateVisitor& visitor);

 private:
  Round next_shared();
  Round next_local();

  ZeroOneConfig config_;
  Index last_step_;
  Index count_ = 1;  ///< of steps, with the dry run
  Index variance_interval_ = 1;
  Index variance_updates_ = 0;  ///< at this interval
  Index local_interval_ = 1;
  Index local_steps_ = 0;  ///< at this interval
};

}  // namespace onebit::optim
