#pragma once
// Collectives among the virtual workers. A channel takes the rows of a device's workers in groups, returns the combined
// vector on every device, and records what crossed the wire from the buffers that were really filled. Its exchanges are
// collective: every device of the run calls them.

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

  /// Row of the group's worker g at rows + g * stride. Groups come in order.
  void absorb(Range group, const float* rows, Index stride) { sum_.absorb(group, rows, stride); }

  /// Writes the mean over all workers and appends the traffic.
  void exchange(float* mean, netmodel::TrafficList& traffic);

  /// The traffic of one exchange, without data; tensor: whose elements they are, -1: the fused vector.
  static netmodel::TrafficList plan(Index workers, Index parameters, Index tensor = -1);

 private:
  Index workers_;
  Index parameters_;
  device::DenseSum sum_;
};

/// Where the time of a compressed exchange went.
struct ExchangeSeconds {
  device::Seconds encode = 0;    ///< workers, where they can only start when all vectors are there
  device::Seconds exchange = 0;  ///< moving payloads between devices
  device::Seconds server = 0;    ///< mean, second compression, decoding
};

/// Squared norms of what the codecs of an exchange were given, y, and left, e.
struct CodecSquares {
  double error = 0;
  double input = 0;
};

/// A compressed mean. Errors are the caller's: worker_errors is [workers of this device][error_stride], server_error
/// [server_state_size]. A channel that does not revisit the workers' errors sees them a group at a time.
class Channel {
 public:
  virtual ~Channel() = default;

  virtual Index error_stride() const = 0;
  virtual Index server_state_size() const { return 0; }
  /// Whether exchange needs the errors that absorb left, of all workers of this device: worker_errors of another type
  /// than float32 have no such rows.
  virtual bool revisits_errors() const { return false; }
  /// How the errors of this device's servers lie; null: there are none.
  virtual const SegmentTable* servers() const { return nullptr; }

  /// Takes the group's vectors; errors are the group's.
  virtual void absorb(Range group, const EncodeInput& input, const RngKey& draw, float* errors) = 0;

  /// The payload from which everybody decodes the mean, where it consists of signs that follow the layout's servers;
  /// null: there is none.
  virtual const Payload* packed_mean() const { return nullptr; }

  /// Writes the decoded mean to `result` [parameters], where the channel has elements; null: leaves it to whoever reads
  /// packed_mean. Appends the traffic.
  virtual ExchangeSeconds exchange(const RngKey& draw, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                                   float* result, netmodel::TrafficList& traffic) = 0;

  /// What could not be encoded in the last exchange; its result then means nothing.
  const Refusals& refusals() const { return refusals_; }

  /// The traffic of one exchange, without data; where payloads differ in size, the most that it can be.
  virtual netmodel::TrafficList plan() const = 0;

  /// Whether payloads are summed before anybody decodes: what a worker's vector is held against is then the common
  /// mean, and what it lacks is no error of the codec.
  virtual bool decodes_sums() const { return false; }

  /// Of every worker of this device in the last exchange, over real elements.
  virtual std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const = 0;
  /// Of all servers together. Collective.
  virtual CodecSquares server_squares(const device::Buffer<float>&) const { return {}; }
  /// ||e||_2^2 over all servers, as of now. Reading it is collective.
  virtual device::Number server_error_square(const device::Buffer<float>&) const { return 0.0; }

  /// The servers' errors, and what is kept from step to step.
  virtual void visit_state(device::StateVisitor&, device::Buffer<float>&) {}

  /// Room for payloads anew, after a codec changed what it needs.
  virtual void renew_payloads() = 0;

 protected:
  Refusals refusals_;
};

}  // namespace onebit::compress
