#pragma once
// Benchmark models. They compute per-worker losses and gradients of a batch, for weights that all workers share or for
// one row of weights per worker.

#include <functional>
#include <limits>
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
#include "netmodel/wire/traffic.hpp"
#include "sim/data/data.hpp"
#include "sim/layers/boundary_config.hpp"
#include "sim/models/constants.hpp"

namespace onebit::sim {

/// Weights in device memory. Those of worker w start at data + w * stride; stride 0 means one row for all workers.
struct Weights {
  const float* data = nullptr;
  Index stride = 0;
  friend bool operator==(const Weights&, const Weights&) = default;
};

/// Where the gradients of a group go. Those of worker w start at data + w * stride; w counts from the group's first
/// worker.
struct GradientRows {
  float* data = nullptr;
  Index stride = 0;
  bool add = false;    ///< whether to add to the rows instead of overwriting them
  float scale = 1.0f;  ///< factor on the gradients; the share of one part if a step has several
  friend bool operator==(const GradientRows&, const GradientRows&) = default;
};

/// Sums over evaluated examples.
struct Evaluation {
  double loss = 0;
  Index correct = 0;
  Index examples = 0;  ///< number of examples; of labels, if an example has several
  double mean_loss() const { return loss / static_cast<double>(examples); }
  /// If there are two classes: for every example, the logit of class 1 minus that of class 0 (`scores`), and the label
  /// (`labels`). Otherwise, both are empty.
  std::vector<float> scores = {};
  std::vector<std::int32_t> labels = {};
  double auc = std::numeric_limits<double>::quiet_NaN();  ///< area under the ROC curve; NaN unless known
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(examples); }
};

/// Gradients that a device may still be computing.
struct GradientPass {
  /// Returns each worker's mean loss over its examples, [batch.workers]. Waits for the forward pass.
  std::function<std::vector<double>()> losses;
  device::Seconds forward = 0;
  device::Seconds backward = 0;
};

/// What a step measures at the boundaries between workers; gradients are those of the mean loss over all workers.
struct BoundarySums {
  /// Squared norms, for one direction, of the values that should have crossed and of those that did cross.
  struct Way {
    double whole = 0, crossed = 0;
    double kept() const { return crossed / whole; }
  };
  /// `product`: dot product of the gradient with the codec and the gradient without it; `coded` and `plain`: the
  /// squared norms of these two gradients.
  struct Agreement {
    double product = 0, coded = 0, plain = 0;
  };
  Way forward, backward;
  double sent_share = std::numeric_limits<double>::quiet_NaN();  ///< of the activations; NaN: the codec is not sparse
  Agreement gradients;
  double cosine() const;
};

/// Rows of embedding tables that a step has read and updated.
struct TouchedRows {
  Index count = 0;
  Index width = 0;  ///< numbers per row
  Index state = 0;  ///< numbers per row that the tables' optimizer keeps

  /// Minimum number of bytes that a step moves: each row is read to pool it, its gradient is written and read, and the
  /// row and its state are read and written.
  double bytes() const { return 4.0 * static_cast<double>(count * (5 * width + 2 * state)); }
  /// Number of these bytes that the update moves: all but those that are read for pooling.
  double update_bytes() const { return bytes() - 4.0 * static_cast<double>(count * width); }
};

/// Inputs of end_step(), and where it records traffic and measurements.
struct StepEnd {
  const device::Shard& shard;
  double lr = 0;               ///< learning rate of the step
  double schedule_factor = 1;  ///< factor of the schedule, which `lr` includes
  netmodel::TrafficList& traffic;
  BoundarySums* measured = nullptr;  ///< where to add what was measured at boundaries; null if nothing was
};

class Model {
 public:
  virtual ~Model() = default;

  /// Name, size and shape of every tensor, in the order of the flat parameter vector, without gaps.
  virtual const std::vector<compress::Tensor>& tensors() const = 0;
  Index parameters() const;

  /// Tensors that workers own instead of sharing them, such as embedding tables. They are not among tensors(), and the
  /// run's optimizer does not update them.
  virtual std::vector<compress::Tensor> owned_tensors() const { return {}; }
  /// Elements of the owned tensors, one tensor after another; null if there are none.
  virtual device::Buffer<float>* owned_weights() { return nullptr; }
  /// Rows of the owned tensors that the last step has changed. The count is 0 if no row has changed or if there are no
  /// owned tensors.
  virtual TouchedRows touched_rows() const { return {}; }
  /// Returns tensors(), then owned_tensors().
  std::vector<compress::Tensor> all_tensors() const;

  /// Returns the initial weights, which depend on nothing but the seed.
  virtual std::vector<float> initial_weights(std::uint32_t seed) const = 0;

  /// Computes, for each worker, the mean loss over its examples, and the gradient of that loss. The gradient, but not
  /// the loss, is multiplied by rows.scale.
  virtual GradientPass gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) = 0;

  /// Whether the model reads a batch's features from host memory, not from the device's.
  virtual bool reads_host_features() const { return false; }

  /// Returns how many floating-point operations the matrix products in `gradients` take for this many examples.
  virtual double gradient_flops(Index examples) const = 0;

  /// Evaluates a batch of one worker.
  virtual Evaluation evaluate(const Weights& weights, const Batch& batch) = 0;

  /// Visits the state, apart from the weights, that is carried over from step to step, such as running statistics and
  /// the parameters that individual workers own.
  virtual void visit_state(device::StateVisitor&) {}

  /// Ends a step, after the optimizer has updated the weights: updates the parameters that individual workers own, and
  /// records what the workers exchanged in addition to gradients. Collective.
  virtual void end_step(const StepEnd&) {}

  /// Returns the constants of the mean loss over all workers and the training split, for problems that the theory
  /// covers.
  virtual std::optional<Constants> constants(const DataSource& data) const;
};

/// Options of all models; each model uses those that its registry entry names.
struct ModelConfig {
  std::string name = "ngram";
  std::string init = {};            ///< file of initial weights (sim/run/weights_file.hpp); empty: drawn from the seed
  std::vector<Index> layers;        ///< mlp: widths from input to output; empty: features,128,classes
  std::string activation = "relu";  ///< mlp, ngram: relu | gelu
  Index context = 0;                ///< tokens per example; 0: the model's default
  Index embedding = 32;             ///< ngram: numbers per byte
  Index hidden = 128;               ///< ngram: width of the hidden layer; des-deepfm: of the first
  Index dimension = 1000;           ///< quadratic: number of parameters
  Index blocks = 1;                 ///< quadratic: number of tensors
  std::string spectrum = "log";     ///< quadratic: linear | log | power:P | flat
  double condition = 100;           ///< quadratic: largest eigenvalue over the smallest
  bool rotate = false;              ///< quadratic: whether eigenvectors mix coordinates
  double noise = 1;                 ///< quadratic: root mean square norm of an example's noise
  double heterogeneity = 0;         ///< quadratic: root mean square norm of the workers' gradients at the optimum
  std::string regulariser = "l2";   ///< logistic: l2 | nonconvex | none
  double lambda = 1e-4;             ///< logistic: factor of the regulariser
  bool bias = false;                ///< logistic: whether to add a feature that is always 1
  std::vector<Index> bottom = {};   ///< dlrm: widths of all bottom layers except the last; empty: the model's default
  std::vector<Index> top = {};  ///< dlrm, des-deepfm: widths of all top layers except the last; empty: the model's own
  std::string interaction = "dot";  ///< dlrm: dot | cat
  TablesConfig tables = {};         ///< dlrm, des: how tables are divided and trained
  Index cut = 0;                    ///< mlp, transformers: layers or blocks before the boundary; 0: no boundary
  BoundaryConfig boundary = {};     ///< how activations cross between workers
  Index workers = 1;                ///< number of workers of the run; not an option
  std::uint32_t seed = 1;           ///< seed of the run; not an option
  Index depth = 0;                  ///< transformers: number of blocks; 0: the model's default
  Index width = 0;                  ///< transformers: numbers per position; 0: the model's default
  Index heads = 0;                  ///< transformers: attention heads; 0: the model's default
  std::string layer_norm = "";      ///< transformers: pre | post; empty: the model's default
  /// transformers: share dropped from every branch, from attention probabilities and from embeddings; -1: the model's
  /// default
  double dropout = -1;
  bool tied = true;                                       ///< transformers: whether logits use the embedding's table
  std::string norm = "group";                             ///< resnet: group | batch
  Index groups = 8;                                       ///< resnet: groups of GroupNorm
  std::string command = {};                               ///< external: command that starts the worker program
  double timeout = 60;                                    ///< external: seconds that an answer may take
  device::Precision precision = device::Precision::fp32;  ///< precision of matrix products
};

/// What a model reads.
enum class Input { features, images, tokens, bags, none, any };

struct ModelEntry {
  std::string_view name;
  std::string_view doc;
  /// Names of the options model.* that the model uses, separated by spaces, and of the groups `tables` and `boundary`
  /// if it uses them; model.init applies to every model.
  std::string_view options;
  Input input;
  Target target;  ///< what to predict from token data
  std::unique_ptr<Model> (*make)(const device::Device&, const ModelConfig&, const DataSource&);
  void (*complete)(ModelConfig&) = [](ModelConfig&) {};  ///< fills in default sizes where none are given
  /// Image shape of the synthetic examples on which `onebit bench` runs this model if no data is named.
  ImageShape image = {};
  bool whole_batch = false;  ///< whether every worker computes the shared parts of the model from the whole batch, so
                             ///< that workers exchange no gradients
};

std::span<const ModelEntry> models();

/// Returns the model with this name. Throws ConfigError naming candidates.
const ModelEntry& model_entry(const std::string& name);

/// Fills in the model's default sizes where none are given. Throws ConfigError for an unknown name.
ModelConfig completed(ModelConfig config);

/// Makes the model of a completed configuration. Throws ConfigError for an unknown name, sizes out of range, or data
/// that the model cannot read.
std::unique_ptr<Model> make_model(const device::Device& device, const ModelConfig& config, const DataSource& data);

}  // namespace onebit::sim
