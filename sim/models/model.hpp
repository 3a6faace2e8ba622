#pragma once
// Benchmark models: per-worker losses and gradients of a batch, for weights shared by all workers or one row each.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compress/layout/tensor.hpp"
#include "device/comm/state.hpp"
#include "device/launch/event.hpp"
#include "device/math/precision.hpp"
#include "device/memory/buffer.hpp"
#include "sim/data/data.hpp"
#include "sim/models/constants.hpp"

namespace onebit::sim {

/// Weights in device memory: worker w's start at data + w * stride. stride 0: one row for all.
struct Weights {
  const float* data = nullptr;
  Index stride = 0;
  friend bool operator==(const Weights&, const Weights&) = default;
};

/// Where the gradients of a group go: worker w's at data + w * stride, w counted from the group's first.
struct GradientRows {
  float* data = nullptr;
  Index stride = 0;
  bool add = false;    ///< whether to add to the rows instead of overwriting them
  float scale = 1.0f;  ///< factor of the gradients: the share of one of several parts
  friend bool operator==(const GradientRows&, const GradientRows&) = default;
};

/// Sums over evaluated examples.
struct Evaluation {
  double loss = 0;
  Index correct = 0;
  Index examples = 0;  ///< labels, if an example has several
  double mean_loss() const { return loss / static_cast<double>(examples); }
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(examples); }
};

/// Gradients that a device may still be computing.
struct GradientPass {
  /// [batch.workers]: each worker's mean loss over its examples. Waits for the forward pass.
  std::function<std::vector<double>()> losses;
  device::Seconds forward = 0;
  device::Seconds backward = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  /// Name, size and shape of every tensor, in order of the flat parameter vector, without gaps.
  virtual const std::vector<compress::Tensor>& tensors() const = 0;
  Index parameters() const;

  /// Initial weights: a function of the seed alone.
  virtual std::vector<float> initial_weights(std::uint32_t seed) const = 0;

  /// Each worker's gradient of its mean loss over its examples, times rows.scale, and that loss.
  virtual GradientPass gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) = 0;

  /// Whether the model reads a batch's features from host memory, not from the device's.
  virtual bool reads_host_features() const { return false; }

  /// Floating-point operations of the matrix products in `gradients` over this many examples.
  virtual double gradient_flops(Index examples) const = 0;

  /// Evaluates a batch of one worker.
  virtual Evaluation evaluate(const Weights& weights, const Batch& batch) = 0;

  /// Visits what a step leaves to the next ones besides the weights: running statistics.
  virtual void visit_state(device::StateVisitor&) {}

  /// Constants of the mean loss over all workers and the training split, for problems that the theory covers.
  virtual std::optional<Constants> constants(const DataSource& data) const;
};

/// Options of all models; each uses those that its registry entry names.
struct ModelConfig {
  std::string name = "ngram";
  std::string init = {};            ///< file of initial weights (sim/run/weights_file.hpp); empty: drawn by the seed
  std::vector<Index> layers;        ///< mlp: widths from input to output; empty: features,128,classes
  std::string activation = "relu";  ///< mlp, ngram: relu | gelu
  Index context = 0;                ///< tokens of an example; 0: the model's own number
  Index embedding = 32;             ///< ngram: numbers per byte
  Index hidden = 128;               ///< ngram: width of the hidden layer
  Index dimension = 1000;           ///< quadratic: numbers
  Index blocks = 1;                 ///< quadratic: tensors
  std::string spectrum = "log";     ///< quadratic: linear | log | power:P | flat
  double condition = 100;           ///< quadratic: largest eigenvalue over the smallest
  bool rotate = false;              ///< quadratic: eigenvectors across coordinates
  double noise = 1;                 ///< quadratic: root mean square norm of an example's noise
  double heterogeneity = 0;         ///< quadratic: root mean square norm of the workers' gradients at the optimum
  std::string regulariser = "l2";   ///< logistic: l2 | nonconvex | none
  double lambda = 1e-4;             ///< logistic: factor of the regulariser
  bool bias = false;                ///< logistic: a feature that is always 1
  Index workers = 1;                ///< of the run; not an option
  Index depth = 0;                  ///< transformers: number of blocks; 0: the model's own
  Index width = 0;                  ///< transformers: numbers per position; 0: the model's own
  Index heads = 0;                  ///< transformers: attention heads; 0: the model's own
  std::string layer_norm = "";      ///< transformers: pre | post; empty: the model's own
  /// transformers: share dropped after every branch, of attention and embeddings; negative: the model's own
  double dropout = -1;
  bool tied = true;                                       ///< transformers: logits by the embedding's table
  std::string norm = "group";                             ///< resnet: group | batch
  Index groups = 8;                                       ///< resnet: groups of GroupNorm
  std::string command = {};                               ///< external: starts the worker program
  double timeout = 60;                                    ///< external: seconds that an answer may take
  device::Precision precision = device::Precision::fp32;  ///< of matrix products
};

/// What a model reads.
enum class Input { features, images, tokens, none, any };

struct ModelEntry {
  std::string_view name;
  std::string_view doc;
  std::string_view options;  ///< model.* that it uses, separated by spaces; model.init is every model's
  Input input;
  Target target;  ///< of token data
  std::unique_ptr<Model> (*make)(const device::Device&, const ModelConfig&, const DataSource&);
  void (*complete)(ModelConfig&) = [](ModelConfig&) {};  ///< fills in the model's own sizes where none are given
  /// Image shape of the synthetic examples on which `onebit bench` runs this model if no data is named.
  ImageShape image = {};
};

std::span<const ModelEntry> models();

/// Returns the entry of a name. Throws ConfigError naming candidates.
const ModelEntry& model_entry(const std::string& name);

/// Fills in the model's own sizes where none are given. Throws ConfigError for an unknown name.
ModelConfig completed(ModelConfig config);

/// Makes the model of a completed configuration. Throws ConfigError for an unknown name, sizes out of range, or data
/// that the model cannot take.
std::unique_ptr<Model> make_model(const device::Device& device, const ModelConfig& config, const DataSource& data);

}  // namespace onebit::sim
