#pragma once

#include <memory>

#include "device/launch/graph_cache.hpp"
#include "sim/layers/recommender/embedding_bags.hpp"

namespace onebit::sim {

/// Everything that the launches of a forward or a backward pass depend on, apart from the model's own memory.
struct HalfPass {
  bool backward = false;
  Weights weights;
  GradientRows rows;
  const float* input = nullptr;
  Index workers = 0, batch = 0;
  bool freeze_running_stats = false;
  std::uint32_t seed = 0;
  Index first_worker = 0, first_draw = 0;
  friend bool operator==(const HalfPass&, const HalfPass&) = default;
};

/// Layers followed by softmax cross-entropy. The loss of a worker is the mean over its labels other than kNoLabel; 0 if
/// it has none.
///
/// Forward and input-gradient products run as one batch over all workers if weights are shared; only the
/// weight-gradient products are split by worker. A GPU replays a forward or backward pass that it has recorded before.
class Network final : public Model {
 public:
  /// Takes layers that end in targets x classes logits and have added their tensors to `parameters`. tables: the layer
  /// among them that workers own; null if there is none.
  Network(const device::Device& device, Parameters parameters, std::unique_ptr<Layer> layers, Index targets,
          EmbeddingBags* tables);

  const std::vector<compress::Tensor>& tensors() const override { return parameters_.tensors(); }
  std::vector<compress::Tensor> owned_tensors() const override;
  device::Buffer<float>* owned_weights() override { return tables_ == nullptr ? nullptr : &tables_->weights(); }
  TouchedRows touched_rows() const override { return tables_ == nullptr ? TouchedRows{} : tables_->touched_rows(); }
  std::vector<float> initial_weights(std::uint32_t seed) const override { return parameters_.initial(seed); }
  GradientPass gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) override;
  double gradient_flops(Index examples) const override;
  Evaluation evaluate(const Weights& weights, const Batch& batch) override;
  void visit_state(device::StateVisitor& visitor) override;
  void end_step(const StepEnd& end) override { layers_->end_step(end); }

 private:
  Pass pass_of(const Weights& weights, const Batch& batch) const;
  const float* input_of(const Batch& batch) const;
  void load(const Weights& weights, const Batch& batch, float scale);
  void reserve(const Pass& pass, const Batch& batch);
  void load_factors(const Batch& batch, float scale);
  void forward(const Pass& pass, const float* input);
  void take_losses(const Pass& pass);
  void add_scores(const Batch& batch, Evaluation& result) const;
  template <class Launch>
  void run(const HalfPass& half, const Launch& launch);
  std::function<std::vector<double>()> losses(const Batch& batch) const;

  device::Device device_;
  Parameters parameters_;
  std::unique_ptr<Layer> layers_;
  Index targets_;
  EmbeddingBags* tables_;
  device::Buffer<float> input_;
  device::Buffer<std::int32_t> tokens_;
  device::Buffer<float> logits_;          ///< logits, then their gradient, [examples x targets x classes]
  device::Buffer<std::int32_t> labels_;   ///< labels, [examples x targets]
  device::Buffer<float> factors_;         ///< factor on the losses of each worker's labels
  device::Buffer<Index> step_;            ///< number of the step
  device::Buffer<double> label_loss_;     ///< loss of each label, [examples x targets]
  device::Buffer<std::uint8_t> correct_;  ///< whether each label is predicted, [examples x targets]
  std::vector<float> host_factors_;
  std::vector<Index> label_counts_;  ///< number of labels of each worker
  device::GraphCache<HalfPass> replay_;
};

}  // namespace onebit::sim
