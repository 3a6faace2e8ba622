#pragma once

#include "compress/channels/gather_mean.hpp"

namespace onebit::compress {

/// gTop-k (Shi et al. 2019, Algorithms 2 and 3): the workers' top-k elements are merged along a binomial tree. In round
/// j, worker r, a multiple of 2^(j+1), receives the k elements of worker r + 2^j, adds them to its own and keeps the k
/// largest of the sum. Finally, worker 0 divides its elements by the number of workers, and this result is sent down
/// the tree to all workers. Elements of a worker that are not in the result stay in its error.
///
/// Deviation: an element may be dropped in one merge and still reach the result by another path. In the published
/// algorithm, dropped elements are lost, because the workers that sent them assume that they were used. Here the worker
/// that dropped an element adds it to its own error, so that result and errors add up to the input. An element whose
/// sum is 0 is treated as absent from the result, so its workers keep it.
///
/// The merging is simulated: every device gathers and merges all payloads, which gives the same bits everywhere. The
/// recorded traffic is that of the algorithm: the bytes of one worker's payload on every edge of the tree, up and down.
class GlobalTopKMean final : public Channel {
 public:
  /// Makes the channel. `layout` and `codec` must outlive it.
  GlobalTopKMean(const device::Shard& shard, const ExchangeLayout& layout, const Codec& codec);

  /// Whether the channel accepts a codec: one that sends a few elements unchanged, chooses them deterministically, and
  /// has payloads of one size.
  static bool fits(const Codec& codec);

  Index error_stride() const override { return gather_.error_stride(); }
  bool revisits_errors() const override { return true; }
  void absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) override;
  ExchangeSeconds exchange(const RngKey& key, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                           float* result, netmodel::TrafficList& traffic) override;
  netmodel::TrafficList plan() const override;
  /// Squared norms of the workers' own encodings, before anything was added back to their errors.
  std::vector<CodecSquares> worker_squares(const StoredErrors&) const override { return squares_; }
  void renew_payloads() override;

 private:
  float* row(Index worker) { return rows_.data() + worker * layout_.state_size(); }
  void place(const Payload& payload, Index from, float* to);
  void merge(Index distance);
  void correct(Index worker, float* error);

  device::Shard shard_;
  const ExchangeLayout& layout_;
  const Codec& codec_;
  GatherMean gather_;
  Payload merged_;                 ///< one row per merge of a round
  device::Buffer<float> rows_;     ///< [workers][state]: a worker's partial sum; after it is sent, what
                                   ///< the receiver dropped in the merge
  device::Buffer<float> sent_;     ///< [state]
  device::Buffer<float> decoded_;  ///< [parameters]
  std::vector<CodecSquares> squares_;
};

}  // namespace onebit::compress
