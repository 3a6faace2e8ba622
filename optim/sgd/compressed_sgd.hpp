#pragma once

#include "optim/common/clipping.hpp"
#include "optim/sgd/sgd.hpp"

namespace onebit::optim {

/// For optimizers that are nothing without error feedback. Throws ConfigError where it is switched off, or where a
/// codec would let the errors grow.
void require_feedback(const std::string& optimizer, const compress::ExchangeConfig& config);

/// What a compressed relative of SGD fixes.
struct SgdMethod {
  compress::ExchangeConfig exchange;
  Momentum momentum = {};       ///< of the update, after the exchange
  double clip = 0;              ///< bound of every worker's own gradient norm; 0: no clipping
  bool rescale_errors = false;  ///< errors are kept as steps: times lr_{t-1} / lr_t when the rate changes
};

/// SGD whose workers' vectors meet in a compressed exchange. Here the workers send their gradients:
///
/// ef-sgd: EF-SGD (Karimireddy et al., ICML 2019, Algorithm 2) with any codec, y = g + (lr_{t-1} / lr_t) e, which is
/// the paper's p = lr g + e divided by the rate; the server compresses its mean with feedback of its own
/// (DoubleSqueeze, Tang et al., ICML 2019), with its error scaled alike.
///
/// ef-momentum-sgd: the same exchange, momentum on its result (PowerSGD, Vogels et al., NeurIPS 2019, Algorithm 2). The
/// error is not rescaled, as there; the update is the heavy ball or Nesterov's, where the paper moves by the decoded
/// gradient plus the momentum.
///
/// onebit-sgd: 1-bit SGD (Seide et al., Interspeech 2014): ef-sgd with the codec `onebit` both ways. The paper shares a
/// scale by column of a weight matrix, here by tensor.
class CompressedSgd : public Optimizer {
 public:
  CompressedSgd(const Problem& problem, const OptimizerConfig& config, const SgdMethod& method);

  StateView state() const override;
  void visit_state(device::StateVisitor& visitor) override;

 protected:
  void do_begin() override;
  /// What the workers of a group send, where it is not their clipped gradients.
  virtual compress::EncodeInput worker_side(Range, const compress::EncodeInput& gradients) { return gradients; }
  /// Called when the exchange is over and its errors are what they will be.
  virtual void after_exchange() {}

  const device::Device& device() const { return shard_.device; }
  Index parameters() const { return mean_.size(); }
  compress::CompressedMean& exchange() { return exchange_; }
  /// Place of a group among this device's workers.
  Index own_row(Range group) const { return group.first - shard_.own().first; }
  Index own_workers() const { return shard_.own().count; }
  /// Rows that are sent as they are.
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
  device::Buffer<float> mean_;  ///< decoded
  device::Buffer<float> ones_;  ///< [workers of this device]
  bool exchanged_ = false;
  double last_lr_ = 0;
  device::Seconds encode_seconds_;  ///< of the running step
};

std::unique_ptr<Optimizer> make_ef_sgd(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_ef_momentum_sgd(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_onebit_sgd(const Problem& problem, const OptimizerConfig& config);
std::unique_ptr<Optimizer> make_signsgd(const Problem& problem, const OptimizerConfig& config);

/// The exchange of the majority vote (Bernstein et al., ICML 2018 and ICLR 2019): signs without a scale up and down, no
/// feedback. sign(0) = +1 and a tie is +1, since a bit holds no zero: a silent coordinate moves by -lr.
compress::ExchangeConfig majority_vote(const OptimizerConfig& config);

}  // namespace onebit::optim
