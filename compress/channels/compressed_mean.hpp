#pragma once
// The compressed mean as an optimizer uses it: codecs, channel and the errors of workers and servers in one object.

#include "compress/channels/exchange_config.hpp"
#include "compress/feedback/feedback_audit.hpp"
#include "compress/layout/dense_part.hpp"

namespace onebit::compress {

/// Throws ConfigError where the configuration is wrong for any problem.
void check(const ExchangeConfig& config);

/// Throws what making a CompressedMean would throw, for optimizers that make theirs later.
void check(const device::Shard& shard, std::span<const Tensor> tensors, const ExchangeConfig& config);

/// Throws ConfigError where an exchange keeps something from step to step that adopt_errors does not carry over.
void require_adoptable(const ExchangeConfig& config);

class CompressedMean {
 public:
  /// Throws ConfigError for an unknown codec, a parameter out of range, a pattern that fits no tensor, or a codec that
  /// does not fit the meeting, with the reason.
  CompressedMean(const device::Shard& shard, std::span<const Tensor> tensors, const ExchangeConfig& config);

  /// Starts the exchange of a step. Without feedback the errors of the last one are forgotten.
  void begin(Index step);

  /// Whether this step is one of the first, whose vectors are averaged uncompressed. No errors arise in it.
  bool averages() const { return averages(step_); }

  /// Takes the vectors of a group of this device's workers; groups in order, each worker once.
  void absorb(Range group, const EncodeInput& input);

  /// How the mean of this step lies after the exchange, where it is packed signs and nothing else has to read it: for
  /// kernels that take signs in place of numbers.
  std::optional<device::SignVector> packed_mean() const;

  /// Writes the decoded mean to `result` [parameters], or leaves it as packed_mean() where that is null. Appends the
  /// traffic. Collective.
  ExchangeSeconds exchange(float* result, netmodel::TrafficList& traffic);

  /// Throws NumericError naming worker and tensor where a vector of the last exchange could not be encoded, because it
  /// was not finite: result and errors then mean nothing. Waits for the exchange.
  void require_finite() const;

  /// Errors, and what codecs keep from step to step. Named after what they are: worker_error, server_error.
  void visit_state(device::StateVisitor& visitor);

  /// The traffic of one exchange, without data.
  netmodel::TrafficList plan() const;

  /// Takes over the errors of an exchange of the same tensors, which differs in those that it kept dense: their errors
  /// are 0. The configuration is one that require_adoptable lets through.
  void adopt_errors(const CompressedMean& other);
  /// Forgets all errors.
  void reset_errors();
  /// Forgets errors and whatever codecs keep from step to step: what is exchanged from now on is another quantity.
  void restart();
  /// Multiplies all errors, where their unit changes with the learning rate.
  void scale_errors(float factor);
  /// Sparse codecs: the share of the elements that is sent from now on.
  void set_density(double density);

  /// Elements of a worker's errors.
  Index error_stride() const { return channel_->error_stride(); }
  /// A row of error_stride for each worker of this device.
  const StoredErrors& worker_errors() const { return worker_errors_; }
  const device::Buffer<float>& server_error() const { return server_error_; }
  const Codec& up() const { return *up_; }
  const Codec& down() const { return *down_; }
  const ExchangeLayout& layout() const { return layout_; }

  /// Relative error ||y - C[y]|| / ||y|| of the codecs in the last exchange: mean over the workers, and of the servers
  /// together; 0 for an all-zero y, and where nothing was compressed. Collective.
  double worker_codec_error() const;
  /// Whether the workers' number is none of their codec, but the distance of their vectors from the decoded mean.
  bool decodes_sums() const { return channel_->decodes_sums(); }
  double server_codec_error() const;
  /// ||e||_2 over all servers, as of now. Reading it is collective.
  device::Number server_error_norm() const;

  /// Of the last exchange, where it was audited.
  const std::optional<FeedbackBalance>& balance() const { return balance_; }

  /// Names the first worker of this device and the tensor whose errors are not finite; empty if all are.
  std::string first_bad() const;

 private:
  bool averages(Index step) const { return dense_steps_ > 0 && step <= dense_steps_; }
  bool audits(Index step) const { return audit_ && step % audit_every_ == 0 && !averages(step); }
  void audit(const float* result);
  void check_error_type(const ExchangeConfig& config) const;
  void take_recorded(const ExchangeConfig& config);
  RngKey draw() const;
  std::string vector_of(Index worker, Index state) const;
  std::string tensor_at(Index state) const;

  device::Shard shard_;
  std::vector<Tensor> tensors_;
  std::unique_ptr<Codec> up_, down_;
  std::vector<char> dense_marks_;  ///< [tensors]
  ExchangeLayout layout_;
  bool worker_feedback_, server_feedback_;
  std::uint32_t seed_;
  std::unique_ptr<Channel> channel_;
  DensePart dense_;
  Index dense_steps_;
  DensePart all_dense_;                            ///< of the first steps: every tensor, if there are any
  device::Buffer<device::SignPlace> sign_places_;  ///< [tensors], where the mean is packed signs
  StoredErrors worker_errors_;
  device::Buffer<float> server_error_;
  Index audit_every_;
  std::optional<FeedbackAudit> audit_;
  std::optional<FeedbackBalance> balance_;
  Index step_ = 0;
};

}  // namespace onebit::compress
