#pragma once

#include "compress/channels/channel.hpp"
#include "compress/channels/power_sgd_kernels.hpp"
#include "compress/channels/start_factors.hpp"
#include "compress/layout/tensor.hpp"
#include "device/math/gemm.hpp"

namespace onebit::compress {

/// PowerSGD (Vogels et al. 2019, Algorithm 1 and 2): of every matrix M_w = gradient + error, P = mean of M_w Q,
/// orthonormalised, Q = mean of M_w^T P, and everybody takes P Q^T. Two all-reduces of r numbers for each row and
/// column. Q is kept for the next step (warm start) or is new at every one; a new one is normal random numbers. Errors
/// are what the common result misses of each worker's own matrix, so their mean and the result add up to what went in.
///
/// Q is orthonormalised before M_w Q as well, as PyTorch's hook does: the span, and so P Q^T, is the same, but the
/// columns of M_w Q do not come close to each other, where rounding would show.
///
/// A column of P that vanishes is left out, and starts again from its first random numbers.
class PowerSgdMean final : public Channel {
 public:
  /// Every segment of `layout`, which outlives the channel, is a matrix of `tensors`. Throws ConfigError where the
  /// layout fuses tensors or treats padding as data.
  PowerSgdMean(const device::Shard& shard, const ExchangeLayout& layout, std::span<const Tensor> tensors,
               const ExchangeConfig& config);

  Index error_stride() const override { return layout_.state_size(); }
  bool revisits_errors() const override { return true; }
  void absorb(Range group, const EncodeInput& input, const RngKey& draw, float* errors) override;
  ExchangeSeconds exchange(const RngKey& draw, StoredErrors& worker_errors, device::Buffer<float>& server_error,
                           float* result, netmodel::TrafficList& traffic) override;
  netmodel::TrafficList plan() const override;
  bool decodes_sums() const override { return true; }
  std::vector<CodecSquares> worker_squares(const StoredErrors& worker_errors) const override;
  void visit_state(device::StateVisitor& visitor, device::Buffer<float>&) override {
    visitor.shared("right_factors", right_);
  }
  /// Starts again from the first random factors.
  void renew_payloads() override;

 private:
  /// One matrix and the places of its factors.
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
  device::ItemSizes left_sizes_, right_sizes_;              ///< of the factors' columns
  device::Buffer<FactorShape> left_shapes_, right_shapes_;  ///< [matrices]
  device::Buffer<Index> refused_;                           ///< [workers of this device][segments]
  device::Buffer<float> left_, right_;                      ///< the common factors
  device::Buffer<float> first_right_;                       ///< what the right ones started from
  device::Buffer<float> left_rows_, right_rows_;            ///< [workers of this device]: their own
  device::Buffer<float> decoded_;                           ///< [parameters]
  device::DenseSum left_sum_, right_sum_;
};

}  // namespace onebit::compress
