#pragma once
// The compressed mean as an optimizer uses it: codecs, channel and the errors of workers and servers in one object.

#include <limits>

#include "compress/channels/exchange_config.hpp"
#include "compress/feedback/feedback_audit.hpp"
#include "compress/layout/dense_part.hpp"

namespace onebit::compress {

/// Throws ConfigError if the configuration is invalid regardless of the workers and the tensors.
void check(const ExchangeConfig& config);

/// Throws what the constructor of CompressedMean would throw, for optimizers that construct one later.
void check(const device::Shard& shard, std::span<const Tensor> tensors, const ExchangeConfig& config);

/// What a codec did in an exchange.
struct CodecMeasures {
  double error = 0;  ///< relative error ||y - C[y]|| / ||y||; 0 for an all-zero y or if nothing was compressed
  /// Share of the elements that a sparse codec sent; NaN for others, and if nothing was compressed.
  double sent_share = std::numeric_limits<double>::quiet_NaN();
};

/// Throws ConfigError if an exchange keeps state from step to step that adopt_errors does not carry over.
void require_adoptable(const ExchangeConfig& config);

class CompressedMean {
 public:
  /// Throws ConfigError for an unknown codec, a parameter out of range, a pattern that matches no tensor, or, with
  /// the reason, a codec that does not fit the exchange pattern.
  CompressedMean(const device::Shard& shard, std::span<const Tensor> tensors, const ExchangeConfig& config);

  /// Starts the exchange of a step. Without error feedback, the errors of the last exchange are set to 0.
  void begin(Index step);

  /// Whether this step is one of the first steps, whose vectors are averaged uncompressed. Such steps leave no errors.
  bool averages() const { return averages(step_); }

  /// Takes the vectors of a group of this device's workers. The calls pass the groups in order, and every worker once.
  void absorb(Range group, const EncodeInput& input);

  /// The packed signs that hold this step's mean after the exchange, for kernels that read signs instead of numbers.
  /// Empty if the mean does not consist of packed signs alone, or if an audit needs it as numbers.
  std::optional<device::SignVector> packed_mean() const;

  /// Writes the decoded mean to `result` [parameters]; if `result` is null, the mean is available only as
  /// packed_mean(). Appends the traffic. Collective.
  ExchangeSeconds exchange(float* result, netmodel::TrafficList& traffic);

  /// Throws NumericError if a vector of the last exchange was not finite and could not be encoded. The message names
  /// the worker and the tensor, or says that the vector is a server's mean. Result and errors are then meaningless.
  /// Waits for the exchange.
  void require_finite() const;

  /// Visits the errors (as worker_error and server_error) and the state that codecs keep from step to step.
  void visit_state(device::StateVisitor& visitor);

  /// Traffic of one compressed exchange, computed without data.
  netmodel::TrafficList plan() const;

  /// Copies the errors of another exchange of the same tensors. The other exchange may keep different tensors dense.
  /// Errors of tensors that only `other` kept dense stay 0. The configuration must pass require_adoptable.
  void adopt_errors(const CompressedMean& other);
  /// Sets all errors to 0.
  void reset_errors();
  /// Sets all errors to 0 and resets the state of the codecs, because a different quantity is exchanged from now on.
  void restart();
  /// Multiplies all errors by `factor`, for optimizers that rescale errors when the learning rate changes.
  void scale_errors(float factor);
  /// Sets the share of the elements that sparse codecs send from now on.
  void set_density(double density);

  /// Number of elements in one worker's errors.
  Index error_stride() const { return channel_->error_stride(); }
  /// Errors of this device's workers, one row of error_stride() elements per worker.
  const StoredErrors& worker_errors() const { return worker_errors_; }
  const device::Buffer<float>& server_error() const { return server_error_; }
  const Codec& up() const { return *up_; }
  const Codec& down() const { return *down_; }
  const ExchangeLayout& layout() const { return layout_; }

  /// What the workers' codec did in the last exchange, averaged over the workers. Collective.
  CodecMeasures worker_codec() const;
  /// Whether worker_codec().error is the distance of the workers' vectors from the decoded mean, not an error of the
  /// codec.
  bool decodes_sums() const { return channel_->decodes_sums(); }
  /// Relative error of the servers' codec in the last exchange, over all servers together. Collective.
  double server_codec_error() const;
  /// Current ||e||_2 over all servers. Reading the number is collective.
  device::Number server_error_norm() const;

  /// Balance of the last exchange's errors; empty if the exchange was not audited.
  const std::optional<FeedbackBalance>& balance() const { return balance_; }

  /// Names the first worker of this device whose errors are not finite, and the tensor; empty if all are finite.
  std::string first_bad() const;

 private:
  bool counts_sent() const;
  bool averages(Index step) const { return dense_steps_ > 0 && step <= dense_steps_; }
  bool audits(Index step) const { return audit_ && step % audit_every_ == 0 && !averages(step); }
  void audit(const float* result);
  void check_error_type(const ExchangeConfig& config) const;
  void take_recorded(const ExchangeConfig& config);
  RngKey key() const;
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
  DensePart all_dense_;  ///< exchange of every tensor in the first, dense steps; empty if there are none
  device::Buffer<device::SignPlace> sign_places_;  ///< [tensors] if the mean is packed signs; otherwise empty
  StoredErrors worker_errors_;
  device::Buffer<float> server_error_;
  Index audit_every_;
  std::optional<FeedbackAudit> audit_;
  std::optional<FeedbackBalance> balance_;
  Index step_ = 0;
};

}  // namespace onebit::compress
