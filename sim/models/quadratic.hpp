#pragma once

#include "device/launch/chunks.hpp"
#include "sim/layers/layer.hpp"
#include "sim/models/model.hpp"
#include "sim/models/quadratic_kernels.hpp"

namespace onebit::sim {

/// A quadratic function of d = model.dimension parameters, with known constants:
///
///   f_w(x; xi) = (x - x*)^T H (x - x*) / 2 + (b_w + xi)^T (x - x*),   f = mean of f_w = (x - x*)^T H (x - x*) / 2.
///
/// Up to a constant, f_w is a quadratic around x* - H^-1 b_w. The eigenvalues of H fall from L = 1 to mu = 1 /
/// model.condition as model.spectrum specifies (for d equally spaced t from 0 to 1): `linear` 1 - (1 - mu) t; `log`
/// mu^t; `power:P` (1 + (mu^(-1/P) - 1) t)^-P. With `flat`, all of them are 1. H is diagonal and contains them in this
/// order, unless model.rotate is set. With model.rotate, the plane of coordinates i and d - 1 - i is rotated by 45
/// degrees, so that no coordinate axis is an eigenvector. There are two exceptions: the middle axis if d is odd, and
/// all axes if the spectrum is flat.
///
/// b_w of worker w of N has the norm zeta = model.heterogeneity and elements of equal size; its partner w + N/2 has
/// -b_w. If N is odd, b_w is 0 for the last worker and has the norm sqrt(N / (N - 1)) zeta for the others. Every
/// example has its own xi ~ N(0, sigma^2 / d)^d with sigma = model.noise. Element i of draw k of worker w at step t
/// comes from the Philox key (seed, noise) and the counter (t, w, k d + i).
///
/// x* ~ N(0, 1)^d and the signs of b_w are the same for every seed (Philox key (0, data), counters (4, 0, i) and
/// (3, w mod N/2, i)). The weights are initialised from N(0, 1). They form model.blocks tensors, whose sizes differ by
/// at most one element.
class Quadratic final : public Model {
 public:
  /// Makes the problem. Throws ConfigError naming the option that is out of range.
  Quadratic(const device::Device& device, const ModelConfig& config);

  const std::vector<compress::Tensor>& tensors() const override { return parameters_.tensors(); }
  std::vector<float> initial_weights(std::uint32_t seed) const override { return parameters_.initial(seed); }
  GradientPass gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) override;
  double gradient_flops(Index) const override { return 0; }
  /// Returns f without noise; `correct` is 0.
  Evaluation evaluate(const Weights& weights, const Batch& batch) override;
  std::optional<Constants> constants(const DataSource&) const override { return constants_; }

 private:
  QuadraticForm form() const;
  QuadraticNoise noise(const Batch& batch) const;

  device::Device device_;
  Parameters parameters_;
  Constants constants_;
  QuadraticTilt tilt_;
  device::Chunks chunks_;
  device::Buffer<double> diagonal_, cross_;  ///< diagonal and antidiagonal of H
  device::Buffer<float> optimum_;            ///< the optimum x*
  device::Buffer<double> losses_;            ///< loss of each worker
};

}  // namespace onebit::sim
