#pragma once
// Collectives among the virtual workers. A channel takes the rows of a device's workers in groups, returns the combined
// vector on every device, and records what crossed the wire from the buffers that were really filled. Its exchanges are
// collective: every device of the run calls them.

#include "compress/codec.hpp"
#include "device/dense_sum.hpp"
#include "netmodel/traffic.hpp"

namespace onebit::compress {

/// The dense all-reduce: the mean of float32 rows.
class DenseMean {
 public:
  DenseMean(const device::Shard& shard, Index parameters);

  /// Row of the group's worker g at rows + g * stride. Groups come in order.
  void absorb(Range group, const float* rows, Index stride) { sum_.absorb(group, rows, stride); }

  /// Writes the mean over all workers and appends the traffic.
  void exchange(float* mean, netmodel::TrafficList& traffic);

  /// The traffic of one exchange, without data.
  static netmodel::TrafficList plan(Index workers, Index parameters);

 private:
  Index workers_;
  Index parameters_;
  device::DenseSum sum_;
};

/// Where the time of a compressed exchange went.
struct ExchangeSeconds {
  double exchange = 0;  ///< moving payloads between devices
  double server = 0;    ///< mean, second compression, decoding
};

/// 1-bit Adam's compressed all-reduce (Tang et al. 2021, Algorithm 1; DeepSpeed's compressed_allreduce): all-to-all of
/// the workers' compressed rows, mean and second compression with error feedback at the server of each chunk,
/// all-gather. Server j stands on the device of worker j.
class ServerMean {
 public:
  /// `layout`, `up` and `down` outlive the channel. Throws ConfigError for a codec whose payload cannot be cut into
  /// chunks.
  ServerMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& up, const Codec& down);

  const ExchangeLayout& layout() const { return layout_; }
  /// Elements of the errors of this device's servers.
  Index server_state_size() const { return part_.state_size(); }

  /// Encodes the group's rows; worker_errors is [workers of this device][state_size].
  void absorb(Range group, const EncodeInput& input, device::Buffer<float>& worker_errors);

  /// Servers average, compress with server_error [server_state_size] and spread; the decoded result goes to `result`
  /// [parameters]. Appends the traffic.
  ExchangeSeconds exchange(device::Buffer<float>& server_error, float* result, netmodel::TrafficList& traffic);

  /// The traffic of one exchange, without data.
  netmodel::TrafficList plan() const;

  /// Relative error ||y - C[y]|| / ||y|| of the codecs in the last exchange, over real elements: mean over the workers,
  /// and of the servers together. Takes the errors as the exchange left them; 0 for an all-zero y. Collective.
  double worker_codec_error(const device::Buffer<float>& worker_errors) const;
  double server_codec_error(const device::Buffer<float>& server_error) const;

  /// ||e||_2 over all servers. Collective.
  double server_error_norm(const device::Buffer<float>& server_error) const;

  /// The packed bytes of the last exchange: of this device's workers, and of all servers (one row, their chunks side by
  /// side).
  const Payload& worker_payload() const { return worker_payload_; }
  const Payload& server_payload() const { return alone() ? own_server_payload_ : server_payload_; }

 private:
  bool alone() const { return shard_.ranks() == 1; }
  const Payload& arrived() const { return alone() ? worker_payload_ : arrived_; }
  void plan_blocks();
  void add_record(Index segment, netmodel::TrafficList& traffic) const;
  std::vector<double> squares(const Side& side, const device::Chunks& chunks, const float* errors,
                              const float* decoded) const;
  double server_sum(const std::vector<double>& own) const;

  device::Shard shard_;
  const ExchangeLayout& layout_;
  const Codec& up_;
  const Codec& down_;
  ServerPart part_;
  Payload worker_payload_;      ///< a row for each worker of this device
  Payload arrived_;             ///< a row for each worker of the run: the chunks of this device's servers
  Payload own_server_payload_;  ///< one row: the chunks of this device's servers
  Payload server_payload_;      ///< one row: the chunks of all servers
  std::vector<device::Blocks> scatter_to_, scatter_from_;  ///< worker payloads to the servers, by rank
  std::vector<device::Blocks> gather_to_, gather_from_;    ///< server payloads to everybody, by rank
};

}  // namespace onebit::compress
