#pragma once
// Checks, from outside the codecs, that error feedback loses nothing.

#include "compress/channels/channel.hpp"
#include "device/comm/dense_sum.hpp"

namespace onebit::compress {

/// How the errors of an exchange add up. Let u_w be the input of worker w, e_w its error, e the errors of all servers
/// as one vector, and r the result. Exchanges with error feedback satisfy, up to rounding,
///   mean(u_w) + mean(e_w) + e  =  r + mean(e'_w) + e'
/// where primes mark the errors after the exchange. Summed over the steps, this is the telescoping on which the proofs
/// for 1-bit Adam (Tang et al. 2021, Theorem 1) and EF-SGD (Karimireddy et al. 2019, Theorem II) rest. Norms are l2.
struct FeedbackBalance {
  double size = 0;      ///< ||left||: norm of the left side
  double residual = 0;  ///< ||left - right||: norm of the difference of the two sides
  /// Residual computed without the workers' (or the servers') errors on the left side. It is about 0 if the exchange
  /// did not use these errors.
  double residual_without_workers = 0;
  double residual_without_servers = 0;
  /// Norm of the change that rounding makes to mean(e'_w), if errors are stored in a type smaller than float32. The
  /// other norms use the e'_w before rounding.
  double rounding = 0;
};

/// Audits an exchange. The owner of the exchange reports its inputs, errors and results. The sums do not depend on how
/// workers are spread over devices.
class FeedbackAudit {
 public:
  /// Segment tables of a worker's errors, `stride` elements each, and of the errors of this device's servers (null if
  /// there are no servers).
  struct Places {
    const SegmentTable* worker;
    const SegmentTable* servers;
    Index stride;
  };
  FeedbackAudit(const device::Shard& shard, Index parameters, const Places& places);

  /// Takes the inputs of the group's workers; groups come in order.
  void absorb(Range group, const EncodeInput& input);

  /// Takes the errors that the exchange left at the group's workers, before they are rounded; groups come in order.
  /// Called only if errors are rounded.
  void leave(Range group, const float* errors);

  /// Remembers the errors with which the next exchange starts. Collective.
  void remember(const StoredErrors& worker_errors, const device::Buffer<float>& server_error);
  bool remembers() const { return remembers_; }
  void forget() { remembers_ = false; }

  /// Returns the balance, given the errors that the exchange left and its result [parameters]. Forgets the remembered
  /// errors. Collective.
  FeedbackBalance close(const StoredErrors& worker_errors, const device::Buffer<float>& server_error,
                        const float* result);

  /// Takes the factors by which the errors of workers and servers were deliberately multiplied; a factor of 0 drops
  /// them.
  void scale(float workers, float servers);

  void visit_state(device::StateVisitor& visitor);

 private:
  void add_errors(Range group, const float* errors, device::DenseSum& sum);
  void mean_of_workers(const StoredErrors& errors, device::Buffer<float>& mean);
  void join_servers(const device::Buffer<float>& errors, device::Buffer<float>& joined);
  float* rows(Index count);

  device::Shard shard_;
  Index parameters_;
  Places places_;
  device::DenseSum inputs_, errors_;
  std::optional<device::DenseSum> left_;     ///< mean of the errors before they are rounded
  device::Buffer<float> rows_;               ///< rows of a group
  device::Buffer<float> workers_, servers_;  ///< [parameters]: remembered mean of the workers' errors; servers' errors
  bool remembers_ = false;
};

}  // namespace onebit::compress
