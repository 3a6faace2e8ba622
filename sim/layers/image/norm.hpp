#pragma once
// Normalisation of images [height][width][channels].

#include "sim/layers/image/norm_kernels.hpp"
#include "sim/layers/layer.hpp"

namespace onebit::sim {

/// Computes output = relu((x - mean) / sqrt(variance + 1e-5) * gamma + beta); the ReLU is optional. gamma is the vector
/// name.weight, initially one; beta is name.bias, initially zero. Statistics are sums in double, in a fixed order.
///
/// GroupNorm (Wu & He 2018): mean and variance over a group of an image's channels.
///
/// BatchNorm (Ioffe & Szegedy 2015), if shape.batch: mean and variance over a channel of all images of one worker, as
/// in data-parallel training in which workers do not exchange statistics. Each worker keeps its own running statistics.
/// Each training pass updates them with momentum 0.1 (and the unbiased variance), unless the pass has
/// freeze_running_stats. An evaluation uses the running statistics of worker 0, just as an evaluation on rank 0 does
/// under PyTorch's DistributedDataParallel. Before the first pass, the running mean is 0 and the running variance is 1.
class Norm final : public Layer {
 public:
  /// Adds gamma and beta to the parameters. Throws Error unless the number of groups divides the number of channels;
  /// with shape.batch every channel is a group.
  Norm(Parameters& parameters, const std::string& name, NormShape shape);

  void reserve(const Pass& pass) override;
  void forward(const Pass& pass, const float* input, float* output) override { forward(pass, input, nullptr, output); }
  /// Adds `addend`, which has the size of the output, before the ReLU.
  void forward(const Pass& pass, const float* input, const float* addend, float* output);
  /// Also multiplies output_delta by the slope of the ReLU, so that output_delta becomes the gradient with respect to
  /// the addend.
  void backward(const Pass& pass, const float* input, const float* output, float* output_delta,
                float* input_delta) override;
  void visit_state(device::StateVisitor& visitor) override;

 private:
  bool from_running(const Pass& pass) const { return shape_.batch && !pass.training; }
  Index set_images(const Pass& pass) const { return shape_.batch ? pass.batch : 1; }
  Index sets(const Pass& pass) const { return shape_.batch ? pass.workers : pass.examples(); }
  Index own_sets(const Pass& pass) const { return shape_.batch ? 1 : pass.batch; }
  NormWeights weights(const Pass& pass) const;
  NormTables tables() { return {moments_.data(), scale_.data(), shift_.data()}; }
  void keep_running_rows(const device::Device& device, Index workers);
  RunningRows running(Index worker);
  void sum_channels(const Pass& pass, const float* a, const float* b);
  void find_statistics(const Pass& pass, const float* input);

  NormShape shape_;
  Index gamma_, beta_;  ///< offsets in the parameter vector
  device::Buffer<double> sums_;
  device::Buffer<Moments> moments_;
  device::Buffer<float> scale_, shift_, slope_, offset_;    ///< tables of a pass, [sets][channels]
  device::Buffer<double> running_mean_, running_variance_;  ///< [workers][channels], by global worker
};

}  // namespace onebit::sim
