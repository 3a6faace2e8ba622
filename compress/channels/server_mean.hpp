#pragma once

#include "compress/channels/channel.hpp"

namespace onebit::compress {

/// 1-bit Adam's compressed all-reduce (Tang et al. 2021, Algorithm 1; DeepSpeed's compressed_allreduce). The workers'
/// compressed rows are sent in an all-to-all. The server of each chunk then takes the mean and compresses it again,
/// with error feedback. An all-gather sends the compressed means to all workers. Server j is on the device of worker j.
/// A codec whose payload cannot be cut into the servers' chunks encodes every chunk separately; its guarantees then
/// hold for each chunk.
///
/// Example: sign-l2 both ways, one vector of 10 elements, n = 4 workers, padded to 32 (see ExchangeLayout). Worker w
/// encodes y_w = input + its error as 32 / 8 = 4 bytes of signs and one scale s_w, computed over its 10 elements:
///
///   to server    0          1          2          3
///   y_w          xxxxxxxx   xx......   ........   ........   x: a sign; .: a padding bit, which is 1
///   up           1 byte     1 byte     1 byte     1 byte     all-to-all; s_w (4 bytes) goes to every server
///   server j     z_j = error_j + mean over w of s_w * sign(y_w) in its chunk; 8, 2, 0 and 0 elements
///   down         1 byte     1 byte     1 byte     1 byte     all-gather of sign(z_j), and of the scale t_j (4 bytes)
///   error_j      z_j - t_j * sign(z_j)
///
/// Every worker receives all 4 bytes and the 4 scales t_0 ... t_3, and decodes chunk j of the result as t_j *
/// sign(z_j). Servers 2 and 3 have only padding here, so t_2 = t_3 = 0. With Padding::as_data, s_w is computed
/// over 32 elements and each t_j over 8.
class ServerMean final : public Channel {
 public:
  /// Makes the channel. `layout`, `up` and `down` must outlive it.
  ServerMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& up, const Codec& down);

  Index error_stride() const override { return layout_.state_size(); }
  bool revisits_errors() const override { return up_.traits().shared_max; }
  Index server_state_size() const override { return part_.state_size(); }
  const SegmentTable* servers() const override { return &part_.chunks(); }
  const Payload* packed_mean() const override { return down_.traits().signs ? &server_payload() : nullptr; }
  void absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) override;
  ExchangeSeconds exchange(const RngKey& key, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                           float* result, netmodel::TrafficList& traffic) override;
  netmodel::TrafficList plan() const override;
  std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const override;
  CodecSquares server_squares(const device::Buffer<float>& server_error) const override;
  device::Number server_error_square(const device::Buffer<float>& server_error) const override;
  void visit_state(device::StateVisitor& visitor, device::Buffer<float>& server_error) override;
  void renew_payloads() override;

  /// Payloads of the last exchange: of this device's workers, and of all servers (one row, with their chunks in order).
  const Payload& worker_payload() const { return worker_payload_; }
  const Payload& server_payload() const { return alone() ? own_server_payload_ : server_payload_; }

 private:
  bool alone() const { return shard_.ranks() == 1; }
  const Payload& arrived() const { return alone() ? worker_payload_ : arrived_; }
  /// The segments that are encoded on the way up, and their number per exchanged vector.
  const SegmentTable& up_table() const { return up_.traits().sliceable ? layout_.worker() : layout_.server(); }
  Index up_segments() const { return up_.traits().sliceable ? 1 : layout_.workers(); }
  void plan_scatter(std::span<const Index> sizes);
  void plan_gather(std::span<const Index> sizes);
  std::vector<device::Piece> server_pieces() const;
  std::vector<device::Piece> server_memory_pieces() const;
  void share_largest(const device::Buffer<float>& worker_errors);
  void add_records(netmodel::TrafficList& traffic) const;
  void append(netmodel::TrafficList& traffic, Index vector, Index up_bytes, Index down_bytes) const;
  double server_sum(const std::vector<double>& own) const;

  device::Shard shard_;
  const ExchangeLayout& layout_;
  const Codec& up_;
  const Codec& down_;
  ServerPart part_;
  Payload worker_payload_;      ///< one row per worker of this device
  Payload arrived_;             ///< one row per worker of the run: the chunks of this device's servers
  Payload own_server_payload_;  ///< one row: the chunks of this device's servers
  Payload server_payload_;      ///< one row: the chunks of all servers
  std::vector<device::Blocks> scatter_to_, scatter_from_;  ///< worker payloads to the servers, by rank
  std::vector<device::Blocks> gather_to_, gather_from_;    ///< server payloads to all devices, by rank
};

}  // namespace onebit::compress
