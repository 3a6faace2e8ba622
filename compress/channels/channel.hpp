#pragma once
// Collectives among the virtual workers. A channel takes the rows of a device's workers in groups, returns the combined
// vector on every device, and records the traffic, which it measures from the buffers that it filled. Exchanges are
// collective: every device of the run must call them.

#include "compress/codecs/codec.hpp"
#include "compress/codecs/refusals.hpp"
#include "compress/feedback/stored_errors.hpp"
#include "device/comm/dense_sum.hpp"
#include "device/comm/state.hpp"
#include "device/launch/event.hpp"
#include "netmodel/wire/traffic.hpp"

namespace onebit::compress {

/// The dense all-reduce: the mean of float32 rows.
class DenseMean {
 public:
  DenseMean(const device::Shard& shard, Index parameters);

  /// Takes the rows of a group's workers; the row of worker g is at rows + g * stride. Groups come in order.
  void absorb(Range group, const float* rows, Index stride) { sum_.absorb(group, rows, stride); }

  /// Writes the mean over all workers and appends the traffic.
  void exchange(float* mean, netmodel::TrafficList& traffic);

  /// Traffic of one exchange, computed without data. tensor: index of the exchanged tensor, or -1 for a fused vector.
  static netmodel::TrafficList plan(Index workers, Index parameters, Index tensor = -1);

 private:
  Index workers_;
  Index parameters_;
  device::DenseSum sum_;
};

/// Time that each part of a compressed exchange took.
struct ExchangeSeconds {
  device::Seconds encode = 0;    ///< encoding at the workers, for channels that first need the vectors of all workers
  device::Seconds exchange = 0;  ///< moving payloads between devices
  device::Seconds server = 0;    ///< mean, second compression, decoding
};

/// What a codec did in one exchange: the squared norms of its input y and of the error e that it left, and how much it
/// sent.
struct CodecSquares {
  double error = 0;
  double input = 0;
  double sent = 0;  ///< for a sparse codec: number of real elements that it sent
};

/// A compressed mean. The caller owns the errors: worker_errors is [workers of this device][error_stride], server_error
/// [server_state_size]. A channel that does not revisit the workers' errors gets them one group at a time.
class Channel {
 public:
  virtual ~Channel() = default;

  virtual Index error_stride() const = 0;
  virtual Index server_state_size() const { return 0; }
  /// Whether exchange() or worker_squares() reads the errors that absorb() left, for all workers of this device at
  /// once. Such a channel accepts only ErrorType::fp32, because errors of other types are expanded to float32 only a
  /// few rows at a time.
  virtual bool revisits_errors() const { return false; }
  /// Segment table of the errors of this device's servers; null if the channel has no servers.
  virtual const SegmentTable* servers() const { return nullptr; }

  /// Takes the group's vectors. `errors` points to the errors of the group's first worker.
  virtual void absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) = 0;

  /// The payload from which every device decodes the mean, if it consists of signs in the order of the layout's
  /// servers; otherwise null.
  virtual const Payload* packed_mean() const { return nullptr; }

  /// Writes the decoded mean to those elements of `result` [parameters] that the channel exchanges. It may overwrite
  /// the other elements, so the dense part must be written afterwards. If `result` is null, the mean stays packed and
  /// is available from packed_mean(). Appends the traffic. Collective.
  virtual ExchangeSeconds exchange(const RngKey& key, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                                   float* result, netmodel::TrafficList& traffic) = 0;

  /// Vectors that could not be encoded in the last exchange. If there are any, its result is meaningless.
  const Refusals& refusals() const { return refusals_; }

  /// Traffic of one exchange, computed without data; an upper bound if payloads differ in size.
  virtual netmodel::TrafficList plan() const = 0;

  /// Whether payloads are summed before they are decoded. Each worker's vector is then compared with the common mean,
  /// so the difference is not an error of the codec.
  virtual bool decodes_sums() const { return false; }

  /// Squared norms of the last exchange for every worker of this device, over real elements.
  virtual std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const = 0;
  /// Squared norms of the last exchange for all servers together. Collective.
  virtual CodecSquares server_squares(const device::Buffer<float>&) const { return {}; }
  /// Current ||e||_2^2 over all servers. Reading the number is collective.
  virtual device::Number server_error_square(const device::Buffer<float>&) const { return 0.0; }

  /// Visits the servers' errors and the state that the codecs and the channel keep from step to step.
  virtual void visit_state(device::StateVisitor&, device::Buffer<float>&) {}

  /// Reallocates the payloads after the payload size of a codec changed.
  virtual void renew_payloads() = 0;

 protected:
  Refusals refusals_;
};

}  // namespace onebit::compress
