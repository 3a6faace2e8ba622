#pragma once

#include <optional>

#include "optim/adam/adam_core.hpp"
#include "optim/common/masked.hpp"
#include "optim/zero_one/zero_one_schedule.hpp"

namespace onebit::optim {

/// 0/1 Adam's variance schedule alone (Lu et al., ICLR 2023): the variance is updated in the same steps and frozen
/// after the same step, but every step averages the gradients uncompressed, and no step is local. It differs from Adam
/// only in the rare updates and the freeze of the variance, and 0/1 Adam differs from it only in compression and local
/// steps. Bias correction and masked coordinates are those of ZeroOneAdam in paper semantics. The phases up to the
/// freeze are also those of ZeroOneAdam; after the freeze, the phase is compression. The mean gradient is clipped in
/// every step.
class ZeroOneAdam32 final : public Optimizer {
 public:
  ZeroOneAdam32(const Problem& problem, const OptimizerConfig& config);

  static const StepSchedule kSchedule;

  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override;

 private:
  void do_begin() override { round_ = schedule_.next(); }
  void do_absorb(Range group, const float* gradients, Index stride) override;
  StepReport do_finish(device::Buffer<float>& parameters) override;
  void move_by_momentum(AdamStep step, device::Buffer<float>& x, StepReport& report);
  void freeze(StepReport& report);

  Problem problem_;
  OptimizerConfig config_;
  ZeroOneSchedule schedule_;
  AdamCore core_;
  std::optional<MaskedCoordinates> masked_;  ///< present once the variance is frozen
  Round round_ = Round::full;                ///< the round of this step
  Index updates_ = 0;                        ///< parameter updates so far
  Index variance_updates_ = 0;
};

}  // namespace onebit::optim
