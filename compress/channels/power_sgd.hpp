#pragma once

#include "compress/channels/channel.hpp"
#include "compress/channels/power_sgd_kernels.hpp"
#include "compress/channels/start_factors.hpp"
#include "compress/layout/tensor.hpp"
#include "device/math/gemm.hpp"

namespace onebit::compress {

/// PowerSGD (Vogels et al. 2019, Algorithms 1 and 2). For every matrix M_w = gradient + error of worker w: P = mean of
/// M_w Q, orthonormalised; Q = mean of M_w^T P; the result is P Q^T. That takes two all-reduces, one of r numbers per
/// row and one of r numbers per column. Q is kept for the next step (warm start), or consists of normal random numbers
/// that are drawn anew at every step. A worker's error is M_w minus the common result, so the mean of the errors and
/// the result add up to the mean input.
///
/// Q is also orthonormalised before M_w Q, as PyTorch's hook does. This changes neither the span nor P Q^T, but keeps
/// the columns of M_w Q from becoming nearly parallel, which would amplify rounding errors.
///
/// A column of P that vanishes is left out; the matching column of Q restarts from its initial random numbers.
class PowerSgdMean final : public Channel {
 public:
  /// Makes the channel. Every segment of `layout` must be a matrix of `tensors`, and `layout` must outlive the channel.
  /// Throws ConfigError if the layout fuses tensors or treats padding as data.
  PowerSgdMean(const device::Shard& shard, const ExchangeLayout& layout, std::span<const Tensor> tensors,
               const ExchangeConfig& config);

  Index error_stride() const override { return layout_.state_size(); }
  bool revisits_errors() const override { return true; }
  void absorb(Range group, const EncodeInput& input, const RngKey& key, float* errors) override;
  ExchangeSeconds exchange(const RngKey& key, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                           float* result, netmodel::TrafficList& traffic) override;
  netmodel::TrafficList plan() const override;
  bool decodes_sums() const override { return true; }
  std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const override;
  void visit_state(device::StateVisitor& visitor, device::Buffer<float>&) override {
    visitor.shared("right_factors", right_);
  }
  /// Resets the right factors to their initial values.
  void renew_payloads() override;

 private:
  /// A matrix and the places of its factors.
  struct Matrix {
    Index tensor = 0, parameter = 0, state = 0;
    Index rows = 0, columns = 0, rank = 0;
    Index left = 0, right = 0;  ///< offsets in a row of left factors [rows x rank] and right ones [columns x rank]
  };
  static std::vector<Matrix> matrices_of(const ExchangeLayout& layout, std::span<const Tensor> tensors, Index rank);
  static std::vector<StartFactors::Place> right_places(const std::vector<Matrix>& matrices);
  void start(Index step);
  void multiply(const device::Buffer<float>& errors);
  void multiply_transposed(const device::Buffer<float>& errors);

  device::Shard shard_;
  const ExchangeLayout& layout_;
  std::vector<Matrix> matrices_;
  Index left_size_ = 0, right_size_ = 0;
  StartFactors starts_;
  device::ItemSizes left_sizes_, right_sizes_;              ///< lengths of the factors' columns
  device::Buffer<FactorShape> left_shapes_, right_shapes_;  ///< [matrices]
  device::Buffer<Index> refused_;                           ///< [workers of this device][segments]
  device::Buffer<float> left_, right_;                      ///< the common factors
  device::Buffer<float> first_right_;                       ///< initial values of the right factors
  device::Buffer<float> left_rows_, right_rows_;            ///< [workers of this device]: each worker's own factors
  device::Buffer<float> decoded_;                           ///< [parameters]
  device::DenseSum left_sum_, right_sum_;
};

}  // namespace onebit::compress
