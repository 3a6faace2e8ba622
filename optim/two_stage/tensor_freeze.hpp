#pragma once

#include "optim/adam/adam_core.hpp"

namespace onebit::optim {

/// The variance frozen tensor by tensor, each when it becomes stable (freeze.scope tensor). Ours: the papers of 1-bit
/// Adam and the released code freeze all of it at once.
///
/// Every tensor has a freeze policy of its own, which watches the l1 norm of its part of the variance. The compression
/// stage begins when the first tensor is frozen. From then on
/// - frozen tensors exchange their momenta compressed; the others exchange theirs uncompressed, and so go on as in
/// Adam;
/// - the mean gradient for a variance that moves is what the exchanged momentum implies,
///   g = (m_t - beta1 m_{t-1}) / (1 - beta1); with clipping it is the mean of the workers' clipped gradients;
/// - the variance is stored without bias, so that tensors frozen at different updates need no corrections of their own:
///   v_t = (beta2 w_{t-1} v_{t-1} + (1 - beta2) g^2) / w_t, w_t = 1 - beta2^t, or 1 where no bias is removed.
/// A tensor without variance is never stable. Empty tensors are in neither count.
class TensorFreeze {
 public:
  /// policy: what every tensor's begins as.
  TensorFreeze(const Problem& problem, const OptimizerConfig& config, const FreezePolicy& policy);

  /// Whether the variance of some tensor moves.
  bool moves() const { return frozen_ < tensors_; }
  /// [tensors] on the device: whose variance moves.
  const std::uint8_t* moving() const { return moving_.data(); }
  /// [tensors]: marks those that were not frozen after so many updates.
  std::vector<char> moving_after(Index updates) const;
  /// [tensors]: marks those that were not frozen by this update.
  std::vector<char> all_but_frozen_by(Index update) const;
  /// Whether a tensor was frozen by this update.
  bool froze_by(Index update) const;
  /// The coordinates of the frozen tensors.
  std::vector<Range> frozen() const;

  /// The l1 norms [tensors] of the variance as dense updates store it.
  device::Future<double> norms(const AdamCore& core) const;
  /// Takes the momenta of update t, exchanged to core.mean(), and moves the variance. Returns the norms [tensors] of
  /// what moves.
  device::Future<double> follow(AdamCore& core, Index t) const;
  /// The variance after so many dense updates, from now on without bias.
  void remove_bias(device::Buffer<float>& variance, Index updates);

  /// Freezes the tensors that are stable after update t; norms: of that update. Returns whether there are any.
  bool freeze_stable(Index t, const device::Future<double>& norms);
  /// An event for each tensor that was frozen by this update.
  void tell(Index update, StepReport& report) const;
  /// How many are frozen, of how many: "2 of 6 tensors".
  std::string progress() const;

  void visit_state(device::StateVisitor& visitor);

 private:
  struct Watched {
    std::string name;
    Range range;  ///< of its coordinates
    StabilityWatch watch;
    FreezePolicy policy;
    Index frozen_by = 0;  ///< the update that it was frozen by; 0: its variance moves
    bool moves() const { return range.count > 0 && frozen_by == 0; }
  };
  void update_marks();

  OptimizerConfig config_;
  VarianceBias bias_;
  bool biased_ = true;  ///< whether the variance is stored with its bias
  std::vector<Watched> watched_;
  Index tensors_ = 0, frozen_ = 0;  ///< that have elements; of these
  device::Buffer<std::uint8_t> moving_;
};

}  // namespace onebit::optim
