#pragma once

#include "device/launch/chunks.hpp"
#include "sim/models/model.hpp"
#include "sim/models/penalty.hpp"

namespace onebit::sim {

/// Binary logistic regression. The loss is the mean over the examples of log(1 + exp(-y x . w)), plus a penalty that
/// every evaluation and every worker's loss includes:
///
///   model.regulariser l2: lambda ||w||^2 / 2;  nonconvex: lambda sum of w_i^2 / (1 + w_i^2) (Richtarik et al. 2021
///   and later work);  none.  lambda = model.lambda.
///
/// y is -1 for class 0 and 1 for class 1. The weights are initially zero. With model.bias there is one more feature,
/// which is always 1; its weight is penalised like the others.
class Logistic final : public Model {
 public:
  /// Adds a penalty to a model. network: contains the tensors and computes the loss without the penalty.
  Logistic(const device::Device& device, std::unique_ptr<Model> network, const Penalty& penalty, bool bias)
      : device_(device), network_(std::move(network)), penalty_(penalty), bias_(bias), chunks_(parameters()) {}

  const std::vector<compress::Tensor>& tensors() const override { return network_->tensors(); }
  std::vector<float> initial_weights(std::uint32_t seed) const override { return network_->initial_weights(seed); }
  GradientPass gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) override;
  double gradient_flops(Index examples) const override { return network_->gradient_flops(examples); }
  Evaluation evaluate(const Weights& weights, const Batch& batch) override;

  /// Returns L = lambda_max(X^T X) / (4 n) plus the penalty's greatest curvature (lambda; nonconvex: 2 lambda), where n
  /// is the number of training examples. This is the curvature at w = 0, where it is greatest. lambda_max is computed
  /// in double by power iteration: a Rayleigh quotient approaches it from below. The iteration stops when the relative
  /// change is at most 1e-9, or after 200 rounds. mu is the smallest curvature of the penalty: lambda for l2, 0 for
  /// none, and -lambda / 2 for nonconvex. The other constants are not known.
  std::optional<Constants> constants(const DataSource& data) const override;

 private:
  device::Device device_;
  std::unique_ptr<Model> network_;
  Penalty penalty_;
  bool bias_;
  device::Chunks chunks_;
  device::Buffer<double> charges_;  ///< penalty of each worker's weights
};

}  // namespace onebit::sim
