#pragma once
// Benchmark models: per-worker losses and gradients of a batch, for weights shared by all workers or one row each.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/buffer.hpp"
#include "sim/data/data.hpp"
#include "sim/tensor_info.hpp"

namespace onebit::sim {

/// Weights in device memory: worker w's start at data + w * stride. stride 0: one row for all.
struct Weights {
  const float* data = nullptr;
  Index stride = 0;
};

/// Where the gradients of a group go: worker w's at data + w * stride, w counted from the group's first.
struct GradientRows {
  float* data = nullptr;
  Index stride = 0;
};

/// Sums over evaluated examples.
struct Evaluation {
  double loss = 0;
  Index correct = 0;
  Index examples = 0;
  double mean_loss() const { return loss / static_cast<double>(examples); }
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(examples); }
};

/// Where the time of a batch of gradients went.
struct GradientSeconds {
  double forward = 0;
  double backward = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  /// Name, place and shape of every tensor of the flat parameter vector, without gaps.
  virtual const std::vector<TensorInfo>& tensors() const = 0;
  Index parameters() const;

  /// Initial weights: a function of the seed alone.
  virtual std::vector<float> initial_weights(std::uint32_t seed) const = 0;

  /// Each worker's gradient of its mean loss over its examples, and that loss. losses has batch.workers elements.
  virtual GradientSeconds gradients(const Weights& weights, const Batch& batch, const GradientRows& rows,
                                    std::span<double> losses) = 0;

  /// Floating-point operations of the matrix products in `gradients` over this many examples.
  virtual double gradient_flops(Index examples) const = 0;

  /// Loss and hits of a batch of one worker.
  virtual Evaluation evaluate(const Weights& weights, const Batch& batch) = 0;
};

/// Options of all models; each uses those that its registry line names.
struct ModelConfig {
  std::string name = "ngram";
  std::vector<Index> layers;        ///< mlp: widths from input to output; empty: features,128,classes
  std::string activation = "relu";  ///< mlp, ngram: relu | gelu
  Index context = 8;                ///< ngram: bytes before the target
  Index embedding = 32;             ///< ngram: numbers per byte
  Index hidden = 128;               ///< ngram: width of the hidden layer
};

struct ModelEntry {
  std::string_view name;
  std::string_view doc;
  bool tokens;  ///< wants token data (else dense features)
  std::unique_ptr<Model> (*make)(const device::Device&, const ModelConfig&, const DataSource&);
};

std::span<const ModelEntry> models();

/// Throws ConfigError for an unknown name, sizes out of range, or data that the model cannot take.
std::unique_ptr<Model> make_model(const device::Device& device, const ModelConfig& config, const DataSource& data);

}  // namespace onebit::sim
