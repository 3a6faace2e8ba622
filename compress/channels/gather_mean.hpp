#pragma once

#include "compress/channels/channel.hpp"

namespace onebit::compress {

/// All-gather of the workers' payloads; everybody decodes all of them and takes the mean. The usual exchange of sparse
/// codecs: nothing is compressed twice, and the bytes grow with the number of workers.
class GatherMean final : public Channel {
 public:
  /// `layout` and `codec` outlive the channel.
  GatherMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& codec);

  Index error_stride() const override { return layout_.state_size(); }
  void absorb(Range group, const EncodeInput& input, const RngKey& draw, float* errors) override;
  ExchangeSeconds exchange(const RngKey& draw, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                           float* result, netmodel::TrafficList& traffic) override;
  netmodel::TrafficList plan() const override;
  std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const override;
  void visit_state(device::StateVisitor& visitor, device::Buffer<float>&) override {
    if (codec_.has_memory()) visitor.rows("worker_codec", payload_.memory, layout_.worker().count());
  }
  void renew_payloads() override;

  /// Brings the payloads of all workers to this device: a row for each. Collective.
  const Payload& gather();

  /// A row for each worker of this device.
  const Payload& worker_payload() const { return payload_; }

 private:
  bool alone() const { return shard_.ranks() == 1; }
  void append(netmodel::TrafficList& traffic, Index vector, Index bytes) const;

  device::Shard shard_;
  const ExchangeLayout& layout_;
  const Codec& codec_;
  Payload payload_;
  Payload gathered_;  ///< a row for each worker of the run
  std::vector<device::Blocks> to_, from_;
};

}  // namespace onebit::compress
