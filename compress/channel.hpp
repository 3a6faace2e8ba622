#pragma once
// Collectives among the virtual workers. A channel takes the workers' rows in groups, returns the combined vector, and
// records what crossed the wire from the buffers that were really filled.

#include "compress/codec.hpp"
#include "device/dense_sum.hpp"
#include "netmodel/traffic.hpp"

namespace onebit::compress {

/// The dense all-reduce: the mean of float32 rows.
class DenseMean {
 public:
  DenseMean(const device::Device& device, Index workers, Index parameters);

  /// Row of the group's worker g at rows + g * stride. Groups come in order.
  void absorb(Range group, const float* rows, Index stride) { sum_.absorb(group.first, group.count, rows, stride); }

  /// Writes the mean over all workers and appends the traffic.
  void exchange(float* mean, netmodel::TrafficList& traffic);

  /// The traffic of one exchange, without data.
  static netmodel::TrafficList plan(Index workers, Index parameters);

 private:
  Index workers_;
  Index parameters_;
  device::DenseSum sum_;
};

/// 1-bit Adam's compressed all-reduce (Tang et al. 2021, Algorithm 1; DeepSpeed's compressed_allreduce): all-to-all of
/// the workers' compressed rows, mean and second compression with error feedback at the server of each chunk,
/// all-gather.
class ServerMean {
 public:
  /// `up` and `down` outlive the channel. Throws ConfigError for a codec whose payload cannot be cut into chunks.
  ServerMean(const device::Device& device, const ExchangeLayout& layout, const Codec& up, const Codec& down);

  const ExchangeLayout& layout() const { return layout_; }

  /// Encodes the group's rows; worker_errors is [workers][state_size].
  void absorb(Range group, const EncodeInput& input, device::Buffer<float>& worker_errors);

  /// Servers average, compress with server_error [state_size] and spread; the decoded result goes to `result`
  /// [parameters]. Appends the traffic.
  void exchange(device::Buffer<float>& server_error, float* result, netmodel::TrafficList& traffic);

  /// The traffic of one exchange, without data.
  netmodel::TrafficList plan() const;

  /// Relative error ||y - C[y]|| / ||y|| of the codecs in the last exchange, over real elements: mean over the workers,
  /// and of the servers together. Takes the errors as the exchange left them; 0 for an all-zero y.
  double worker_codec_error(const device::Buffer<float>& worker_errors) const;
  double server_codec_error(const device::Buffer<float>& server_error) const;

  /// The packed bytes of the last exchange.
  const Payload& worker_payload() const { return worker_payload_; }
  const Payload& server_payload() const { return server_payload_; }

 private:
  device::Device device_;
  const ExchangeLayout& layout_;
  const Codec& up_;
  const Codec& down_;
  Payload worker_payload_;
  Payload server_payload_;  ///< one row: the chunks of all servers, side by side
};

}  // namespace onebit::compress
