#pragma once

#include "compress/channels/channel.hpp"

namespace onebit::compress {

/// All-gather of the workers' payloads: every device decodes all of them and takes the mean. This is the usual exchange
/// of sparse codecs. Nothing is compressed twice, and the received bytes grow with the number of workers.
class GatherMean final : public Channel {
 public:
  /// Makes the channel. `layout` and `codec` must outlive it.
  GatherMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& codec);

  Index error_stride() const override { return layout_.state_size(); }
  void absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) override;
  ExchangeSeconds exchange(const RngKey& key, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                           float* result, netmodel::TrafficList& traffic) override;
  netmodel::TrafficList plan() const override;
  std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const override;
  void visit_state(device::StateVisitor& visitor, device::Buffer<float>&) override {
    if (codec_.has_memory()) visitor.rows("worker_codec", payload_.memory, layout_.worker().count());
  }
  void renew_payloads() override;

  /// Gathers the payloads of all workers on this device, one row per worker. Collective.
  const Payload& gather();

  /// Payload of this device's workers, one row per worker.
  const Payload& worker_payload() const { return payload_; }

 private:
  bool alone() const { return shard_.ranks() == 1; }
  void append(netmodel::TrafficList& traffic, Index vector, Index bytes) const;
  void plan_blocks(std::span<const Index> sizes);

  device::Shard shard_;
  const ExchangeLayout& layout_;
  const Codec& codec_;
  Payload payload_;
  Payload gathered_;  ///< one row per worker of the run
  std::vector<device::Blocks> to_, from_;
};

}  // namespace onebit::compress
