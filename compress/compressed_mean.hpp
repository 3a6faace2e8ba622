#pragma once
// The compressed mean as an optimizer uses it: codecs, channel and the errors of workers and servers in one object.

#include "compress/channel.hpp"
#include "compress/exchange_config.hpp"
#include "compress/tensor.hpp"

namespace onebit::compress {

/// Throws ConfigError where the configuration is wrong for any problem.
void check(const ExchangeConfig& config);

class CompressedMean {
 public:
  /// Throws ConfigError for an unknown codec, a parameter out of range, a pattern that fits no tensor, or a codec that
  /// does not fit the meeting, with the reason.
  CompressedMean(const device::Shard& shard, std::span<const Tensor> tensors, const ExchangeConfig& config);

  /// Starts the exchange of a step. Without feedback the errors of the last one are forgotten.
  void begin(Index step);

  /// Takes the vectors of a group of this device's workers; groups in order, each worker once.
  void absorb(Range group, const EncodeInput& input);

  /// Writes the decoded mean to `result` [parameters] and appends the traffic. Collective.
  ExchangeSeconds exchange(float* result, netmodel::TrafficList& traffic);

  /// The traffic of one exchange, without data.
  netmodel::TrafficList plan() const { return channel_.plan(); }

  /// Forgets all errors.
  void reset_errors();

  Index error_stride() const { return layout_.state_size(); }
  /// [workers of this device][error_stride]
  const device::Buffer<float>& worker_errors() const { return worker_errors_; }
  const device::Buffer<float>& server_error() const { return server_error_; }
  const Traits& traits() const { return traits_; }

  /// Relative error ||y - C[y]|| / ||y|| of the codecs in the last exchange: mean over the workers, and of the servers
  /// together; 0 for an all-zero y. Collective.
  double worker_codec_error() const { return channel_.worker_codec_error(worker_errors_); }
  double server_codec_error() const { return channel_.server_codec_error(server_error_); }
  /// ||e||_2 over all servers. Collective.
  double server_error_norm() const { return channel_.server_error_norm(server_error_); }

 private:
  ExchangeLayout layout_;
  std::unique_ptr<Codec> up_, down_;
  Traits traits_;
  bool feedback_;
  ServerMean channel_;
  device::Buffer<float> worker_errors_;
  device::Buffer<float> server_error_;
};

}  // namespace onebit::compress
