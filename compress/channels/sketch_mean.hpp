#pragma once

#include "compress/channels/channel.hpp"
#include "compress/channels/count_sketch.hpp"

namespace onebit::compress {

/// Sketched-SGD (Ivkin et al. 2019, Algorithms 1 and 2): each worker's vector of all tensors is sketched, and the
/// sketches are all-reduced. A second all-reduce then computes the exact means of the elements with the 4 k largest
/// estimates, and the k largest of these means are the result. A worker's error is its vector without these k elements,
/// so result and errors add up to the input.
///
/// Deviations: an all-reduce replaces the paper's parameter server; candidates are the largest estimates, without
/// HEAVYMIX's random filling, as in the authors' experiments (P = 4).
class SketchMean final : public Channel {
 public:
  /// Makes the channel. `layout` must outlive it. Throws ConfigError if padding is treated as data.
  SketchMean(const device::Shard& shard, const ExchangeLayout& layout, const CountSketch& sketch);

  Index error_stride() const override { return layout_.state_size(); }
  bool revisits_errors() const override { return true; }
  void absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) override;
  ExchangeSeconds exchange(const RngKey& key, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                           float* result, netmodel::TrafficList& traffic) override;
  netmodel::TrafficList plan() const override;
  bool decodes_sums() const override { return true; }
  std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const override;
  void renew_payloads() override {}

 private:
  static constexpr Index kCandidates = 4;
  void sketch(const device::Buffer<float>& errors);
  void choose(const device::Buffer<float>& errors);

  device::Shard shard_;
  const ExchangeLayout& layout_;
  SketchShape shape_;
  Index chosen_;
  Index candidates_;
  device::Buffer<Index> places_;   ///< [state]: the parameter of every element
  device::Buffer<Index> refused_;  ///< [workers of this device][segments]
  device::Buffer<float> sketches_, sketch_;
  device::Buffer<float> estimates_;
  device::Buffer<Index> indices_, picks_;  ///< [candidates]: indices in the state; [chosen]: among candidates
  device::Buffer<float> exact_rows_, exact_;
  device::Buffer<float> decoded_;  ///< [parameters]
  device::DenseSum sketch_sum_, exact_sum_;
};

}  // namespace onebit::compress
