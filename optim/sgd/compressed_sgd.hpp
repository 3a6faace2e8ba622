#pragma once

#include "optim/common/clipping.hpp"
#include "optim/sgd/sgd.hpp"

namespace onebit::optim {

/// Checks the exchange of an optimizer that needs error feedback. Throws ConfigError if error feedback is switched off,
/// or if a codec would let the errors grow.
void require_feedback(const std::string& optimizer, const compress::ExchangeConfig& config);

/// Properties in which the compressed variants of SGD differ.
struct SgdMethod {
  compress::ExchangeConfig exchange;
  Momentum momentum = {};       ///< momentum of the update, after the exchange
  double clip = 0;              ///< bound on every worker's gradient norm; 0: no clipping
  bool rescale_errors = false;  ///< whether errors are multiplied by lr_{t-1} / lr_t when the rate changes
};

/// SGD with a compressed exchange of the workers' vectors. In step t, with a codec C through servers:
///
///   errors:    e_w, e *= lr_{t-1} / lr_t                       if rescale_errors
///   worker w:  y = p_w + e_w,  sends C(y),  e_w = y - C(y)     p_w: its clipped gradient, or what a subclass sends
///   server:    y = mean of the C(y) + e,  sends C(y) = g,  e = y - C(y)
///   all:       m = momentum m + g,  x -= lr (m + weight_decay x)   without momentum m = g; Nesterov's: see SgdUpdate
///
/// Methods whose workers send their gradients:
///
/// ef-sgd: EF-SGD (Karimireddy et al., ICML 2019, Algorithm 2) with any codec, y = g + (lr_{t-1} / lr_t) e, which is
/// the paper's p = lr g + e divided by the learning rate. The server compresses its mean with its own error feedback
/// (DoubleSqueeze, Tang et al., ICML 2019), and its error is rescaled in the same way.
///
/// ef-momentum-sgd: the same exchange with momentum on its result (PowerSGD, Vogels et al., NeurIPS 2019, Algorithm 2).
/// As in the paper, the error is not rescaled. The update uses heavy-ball or Nesterov momentum, whereas the paper's
/// update is the decoded gradient plus the momentum.
///
/// onebit-sgd: 1-bit SGD (Seide et al., Interspeech 2014): ef-sgd with the codec `onebit` both ways. The paper
/// quantises each column of a weight matrix separately; this method quantises each server's chunk of a tensor.
///
/// signsgd: majority_vote() of the clipped gradients.
class CompressedSgd : public Optimizer {
 public:
  CompressedSgd(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method);

  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override;

 protected:
  void do_begin() override;
  /// Returns what the workers of a group send: by default, their clipped gradients.
  virtual compress::EncodeInput worker_side(Range, const compress::EncodeInput& gradients) { return gradients; }
  /// Runs after the exchange, when its errors are final.
  virtual void after_exchange() {}

  const device::Device& device() const { return shard_.device; }
  Index parameters() const { return mean_.size(); }
  compress::CompressedMean& exchange() { return exchange_; }
  /// Index of a group's first worker among this device's workers.
  Index own_row(Range group) const { return group.first - shard_.own().first; }
  Index own_workers() const { return shard_.own().count; }
  /// Returns the input of an exchange that sends rows unchanged.
  compress::EncodeInput plain(const float* rows) const;

 private:
  void do_absorb(Range group, const float* gradients, Index stride) override;
  StepReport do_finish(device::Buffer<float>& parameters) override;
  void rescale_errors();

  device::Shard shard_;
  bool rescales_;
  compress::CompressedMean exchange_;
  LocalClipping clipping_;
  SgdUpdate update_;
  device::Buffer<float> mean_;  ///< the decoded result of the exchange, [parameters]
  device::Buffer<float> ones_;  ///< factors of 1, [workers of this device]
  bool exchanged_ = false;
  double last_lr_ = 0;
  device::Seconds encode_seconds_;  ///< time that encoding took in this step
};

std::unique_ptr<Optimizer> make_ef_sgd(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_ef_momentum_sgd(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_onebit_sgd(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_signsgd(const Problem& problem, const OptimizerConfig& config);

/// The exchange of the majority vote (Bernstein et al., ICML 2018 and ICLR 2019): signs without a scale in both
/// directions, and no error feedback. Both sign(0) and a tie count as +1, since a bit cannot encode 0, so a coordinate
/// without gradients moves by -lr.
compress::ExchangeConfig majority_vote(const OptimizerConfig& config);

}  // namespace onebit::optim
