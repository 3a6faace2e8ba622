// Transformers (Vaswani et al. 2017): encoders with the masked-language loss (BERT, Devlin et al. 2018) and decoders
// with the causal loss (GPT-2, Radford et al. 2019). BERT's token types, its pooler and its next-sentence loss are left
// out. Both use the exact GELU.

#include <cmath>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "sim/layers/linear.hpp"
#include "sim/layers/sequence/attention.hpp"
#include "sim/layers/sequence/layer_norm.hpp"
#include "sim/layers/sequence/tied_output.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

constexpr double kDeviation = 0.02;

void check(const ModelConfig& config) {
  check_size("model.depth", config.depth);
  check_size("model.width", config.width);
  check_size("model.heads", config.heads);
  if (config.depth > 256)
    throw ConfigError("too many blocks", "model.depth " + std::to_string(config.depth), "at most 256");
  // A dropout mask numbers a site's groups of four elements with 26 bits (dropout_kernels.hpp).
  const double quads =
      static_cast<double>(config.heads) * std::ceil(std::pow(static_cast<double>(config.context), 2) / 4);
  if (config.dropout > 0 && quads >= 0x1p26) {
    throw ConfigError(
        "too many attention probabilities for dropout",
        "model.heads " + std::to_string(config.heads) + ", model.context " + std::to_string(config.context),
        "use fewer heads, a shorter context, or --model.dropout 0");
  }
  if (config.width % config.heads != 0) {
    throw ConfigError("the heads do not divide the width evenly",
                      "model.width " + std::to_string(config.width) + ", model.heads " + std::to_string(config.heads),
                      "the width must be a multiple of the number of heads");
  }
  if (config.layer_norm != "pre" && config.layer_norm != "post") {
    throw ConfigError("unknown position of the layer norm", "model.layer-norm " + config.layer_norm, "pre or post");
  }
  if (!(config.dropout >= 0 && config.dropout < 1)) {
    throw ConfigError("option out of range", "model.dropout " + shortest(config.dropout), "at least 0 and below 1");
  }
}

/// Builds a transformer layer by layer, from the embedding to the logits.
class Builder {
 public:
  Builder(const ModelConfig& config, const DataSource& data, bool causal)
      : config_(config), context_(data.context()), vocabulary_(data.vocabulary()), causal_(causal) {}

  std::unique_ptr<Model> build(const device::Device& device) {
    auto embedding = std::make_unique<Embedding>(parameters_, Embedding::Shape{.vocabulary = vocabulary_,
                                                                               .context = context_,
                                                                               .width = config_.width,
                                                                               .deviation = kDeviation,
                                                                               .positions = true,
                                                                               .tied = config_.tied});
    const Embedding& table = *embedding;
    layers_.push_back(std::move(embedding));
    if (!pre()) add_norm("embedding.norm", layers_);
    if (config_.dropout > 0) layers_.push_back(std::make_unique<Dropout>(context_ * config_.width, next_site()));
    for (Index block = 1; block <= config_.depth; ++block) {
      const std::string name = "block" + std::to_string(block);
      add_half(name + ".attention", &Builder::add_attention);
      add_half(name + ".feed-forward", &Builder::add_feed_forward);
      add_cut(config_, block, config_.depth, layers_);
    }
    if (pre()) add_norm("norm", layers_);
    add_logits(table);
    return make_network(device, std::move(parameters_), std::move(layers_), context_);
  }

 private:
  using Layers = std::vector<std::unique_ptr<Layer>>;

  bool pre() const { return config_.layer_norm == "pre"; }
  DropoutSite next_site() { return {config_.dropout, sites_++}; }

  void add_norm(const std::string& name, Layers& layers) {
    layers.push_back(std::make_unique<LayerNorm>(parameters_, name, context_, config_.width));
  }
  void add_linear(const std::string& name, Index inputs, Index outputs, Activation activation, double deviation,
                  Layers& layers) {
    const Linear::Shape shape{
        .inputs = inputs, .outputs = outputs, .positions = context_, .activation = activation, .deviation = deviation};
    layers.push_back(std::make_unique<Linear>(parameters_, name, shape));
  }

  /// Adds half a block: x + body(norm(x)), or norm(x + body(x)).
  void add_half(const std::string& name, void (Builder::*add_body)(const std::string&, Layers&)) {
    Layers body;
    if (pre()) add_norm(name + ".norm", body);
    (this->*add_body)(name, body);
    layers_.push_back(std::make_unique<Branch>(std::make_unique<Sequential>(std::move(body)), next_site()));
    if (!pre()) add_norm(name + ".norm", layers_);
  }

  /// Standard deviation of the initial weights of projections back to the residual stream. In GPT-2's decoders it is
  /// that of the other weights, divided by sqrt(number of branches).
  double residual_deviation() const {
    return causal_ ? kDeviation / std::sqrt(2.0 * static_cast<double>(config_.depth)) : kDeviation;
  }
  void add_attention(const std::string& name, Layers& body) {
    const Index width = config_.width;
    add_linear(name + ".qkv", width, 3 * width, Activation::none, kDeviation, body);
    body.push_back(std::make_unique<SelfAttention>(
        SelfAttention::Shape{.positions = context_, .width = width, .heads = config_.heads, .causal = causal_},
        next_site()));
    add_linear(name + ".out", width, width, Activation::none, residual_deviation(), body);
  }
  void add_feed_forward(const std::string& name, Layers& body) {
    add_linear(name + ".in", config_.width, 4 * config_.width, Activation::gelu, kDeviation, body);
    add_linear(name + ".out", 4 * config_.width, config_.width, Activation::none, residual_deviation(), body);
  }

  /// Adds the logits. BERT has one more layer with a norm before them, and a bias; GPT-2 has none of these.
  void add_logits(const Embedding& embedding) {
    if (!causal_) {
      add_linear("transform", config_.width, config_.width, Activation::gelu, kDeviation, layers_);
      add_norm("transform.norm", layers_);
    }
    if (config_.tied) {
      layers_.push_back(std::make_unique<TiedOutput>(parameters_, embedding, !causal_));
    } else {
      add_linear("logits", config_.width, vocabulary_, Activation::none, kDeviation, layers_);
    }
  }

  const ModelConfig& config_;
  Index context_, vocabulary_;
  bool causal_;
  Index sites_ = 0;
  Parameters parameters_;
  Layers layers_;
};

}  // namespace

std::unique_ptr<Model> make_transformer(const device::Device& device, const ModelConfig& config,
                                        const DataSource& data) {
  check(config);
  return Builder(config, data, model_entry(config.name).target == Target::causal).build(device);
}

}  // namespace onebit::sim
