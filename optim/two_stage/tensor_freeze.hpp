#pragma once

#include "optim/adam/adam_core.hpp"

namespace onebit::optim {

/// Freezes the variance tensor by tensor, each when it becomes stable (freeze.scope tensor). This is our own
/// extension: the 1-bit Adam paper and the released code freeze the whole variance at once.
///
/// Every tensor has its own freeze policy, which watches the l1 norm of its part of the variance. The compression
/// stage begins when the first tensor is frozen. From then on
/// - frozen tensors exchange their momenta compressed; the others exchange theirs uncompressed and continue as in Adam;
/// - a variance that is not yet frozen is updated with the mean gradient that the exchanged momentum implies,
///   g = (m_t - beta1 m_{t-1}) / (1 - beta1); with clipping, g is the mean of the workers' clipped gradients;
/// - the variance is stored without bias, so that tensors frozen at different updates need no separate corrections:
///   v_t = (beta2 w_{t-1} v_{t-1} + (1 - beta2) g^2) / w_t, w_t = 1 - beta2^t, or 1 if no bias is removed.
/// A tensor whose variance is 0 is never stable. Empty tensors are counted neither in the total number of tensors nor
/// in the number of frozen ones.
class TensorFreeze {
 public:
  /// Starts with no tensor frozen. policy: the initial policy of every tensor.
  TensorFreeze(const Problem& problem, const VarianceBias& bias, const FreezePolicy& policy);

  /// Whether the variance of any tensor is still updated.
  bool moves() const { return frozen_ < tensors_; }
  /// One mark per tensor, [tensors], in device memory: nonzero if the tensor's variance is still updated.
  const std::uint8_t* moving() const { return moving_.data(); }
  /// Marks [tensors]: nonzero for tensors that were not yet frozen after `updates` updates.
  std::vector<char> moving_after(Index updates) const;
  /// Returns a mark for each tensor, [tensors]: nonzero for all tensors except those that were frozen in exactly this
  /// update.
  std::vector<char> all_but_frozen_by(Index update) const;
  /// Whether any tensor was frozen in exactly this update.
  bool froze_by(Index update) const;
  /// The coordinates of the frozen tensors.
  std::vector<Range> frozen() const;

  /// The l1 norms [tensors] of the variance as it is stored.
  device::Future<double> norms(const AdamCore& core) const;
  /// Copies the momenta of update t, which the exchange left in core.mean(), to core.momentum(), and updates the
  /// variances that are not frozen. Returns the l1 norms [tensors] of the updated variances, as stored; 0 for frozen
  /// tensors.
  device::Future<double> follow(AdamCore& core, Index t) const;
  /// Removes the bias of a variance after `updates` dense updates; from now on it is stored without bias.
  void remove_bias(device::Buffer<float>& variance, Index updates);

  /// Freezes the tensors that are stable after update t, given the norms of that update. Returns whether any tensor was
  /// frozen.
  bool freeze_stable(Index t, const device::Future<double>& norms);
  /// Adds an event to the report for each tensor that was frozen in exactly this update.
  void tell(Index update, StepReport& report) const;
  /// The number of frozen tensors, as text: "2 of 6 tensors".
  std::string progress() const;

  void visit_state(device::StateVisitor& visitor);

 private:
  struct Watched {
    std::string name;
    Range range;  ///< its coordinates
    StabilityWatch watch;
    FreezePolicy policy;
    Index frozen_by = 0;  ///< the update after which it was frozen; 0: not frozen
    bool moves() const { return range.count > 0 && frozen_by == 0; }
  };
  void update_marks();

  const VarianceBias bias_;
  bool biased_ = true;  ///< whether the variance is stored with its bias
  std::vector<Watched> watched_;
  Index tensors_ = 0, frozen_ = 0;  ///< number of tensors with elements; number of frozen ones
  device::Buffer<std::uint8_t> moving_;
};

}  // namespace onebit::optim
