#pragma once
// Watches from outside the codecs that error feedback loses nothing.

#include "compress/channels/channel.hpp"
#include "device/comm/dense_sum.hpp"

namespace onebit::compress {

/// What an exchange did with its errors. With u_w what worker w hands in, e_w its error, e the servers' errors side by
/// side and r the result, exchanges with error feedback keep, to rounding,
///   mean(u_w) + mean(e_w) + e  =  r + mean(e'_w) + e'
/// where dashes mark what is carried on. Summed over the steps this is the telescoping on which the proofs for 1-bit
/// Adam (Tang et al. 2021, Theorem 1) and EF-SGD (Karimireddy et al. 2019, Theorem II) rest. Norms are l2.
struct FeedbackBalance {
  double size = 0;      ///< ||left||
  double residual = 0;  ///< ||left - right||
  /// The same if the workers' errors, or the servers', were not carried in: next to nothing where that is what
  /// happened.
  double residual_without_workers = 0;
  double residual_without_servers = 0;
  /// ||what rounding took from mean(e'_w)|| before it was carried on, where errors are kept in fewer bytes than
  /// float32's. The other norms are of the e'_w before that.
  double rounding = 0;
};

/// Watches an exchange: it is told what goes in and what comes out. Its sums do not depend on how workers are
/// spread over devices.
class FeedbackAudit {
 public:
  /// What lies where: a worker's errors of `stride` elements, and those of this device's servers; null: there are none.
  struct Places {
    const SegmentTable* worker;
    const SegmentTable* servers;
    Index stride;
  };
  FeedbackAudit(const device::Shard& shard, Index parameters, const Places& places);

  /// What the group's workers hand in; groups in order.
  void absorb(Range group, const EncodeInput& input);

  /// What the group's workers are left with, before it is rounded; groups in order. Not for errors that are kept as
  /// they are.
  void leave(Range group, const float* errors);

  /// Errors that the next exchange is to carry in. Collective.
  void remember(const StoredErrors& worker_errors, const device::Buffer<float>& server_error);
  bool remembers() const { return remembers_; }
  void forget() { remembers_ = false; }

  /// After the exchange, with the errors that it left and what it yielded [parameters]. Forgets what it remembered.
  /// Collective.
  FeedbackBalance close(const StoredErrors& worker_errors, const device::Buffer<float>& server_error,
                        const float* result);

  /// Errors were multiplied with factors, of the workers and of the servers, for a reason; 0: dropped.
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
  std::optional<device::DenseSum> left_;     ///< errors before they are rounded
  device::Buffer<float> rows_;               ///< of a group
  device::Buffer<float> workers_, servers_;  ///< [parameters], remembered
  bool remembers_ = false;
};

}  // namespace onebit::compress
