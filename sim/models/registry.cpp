#include <algorithm>
#include <array>
#include <iterator>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

/// Sets a field to `value` if the field was not given.
void put(Index& field, Index value) {
  if (field == 0) field = value;
}

/// Default sizes of a transformer, as published except for BERT's context.
struct TransformerSize {
  Index context, depth, width, heads;
  double dropout;
};

void put(ModelConfig& config, const TransformerSize& size, const char* layer_norm) {
  put(config.context, size.context);
  put(config.depth, size.depth);
  put(config.width, size.width);
  put(config.heads, size.heads);
  if (config.layer_norm.empty()) config.layer_norm = layer_norm;
  if (config.dropout == -1) config.dropout = size.dropout;
}

template <Index context, Index depth, Index width, Index heads, int dropout_percent>
void bert_size(ModelConfig& config) {
  put(config, {context, depth, width, heads, dropout_percent / 100.0}, "post");
}

template <Index context, Index depth, Index width, Index heads, int dropout_percent>
void gpt_size(ModelConfig& config) {
  put(config, {context, depth, width, heads, dropout_percent / 100.0}, "pre");
}

/// Default widths of a recommendation model.
template <Index embedding, std::array bottom, std::array top>
void dlrm_size(ModelConfig& config) {
  put(config.tables.width, embedding);
  if (config.bottom.empty()) config.bottom.assign(bottom.begin(), bottom.end());
  if (config.top.empty()) config.top.assign(top.begin(), top.end());
}

constexpr std::string_view kDlrm = "bottom top interaction precision tables boundary";

constexpr std::string_view kTransformer = "context depth width heads layer-norm dropout tied precision cut boundary";

constexpr ModelEntry kModels[] = {
    {"softmax", "softmax regression on dense features (convex)", "precision", Input::features, Target::next,
     make_softmax},
    {"logistic", "binary logistic regression with known constants: model.regulariser, model.lambda, model.bias",
     "regulariser lambda bias precision", Input::features, Target::next, make_logistic},
    {"mlp", "fully connected network on dense features: model.layers, model.activation",
     "layers activation precision cut boundary", Input::features, Target::next, make_mlp},
    {"cnn",
     "network for images: 3x3 convolutions with 16 and 32 filters, max-pooling, dense 128",
     "precision",
     Input::images,
     Target::next,
     make_cnn,
     [](ModelConfig&) {},
     {1, 28, 28}},
    {"resnet18",
     "residual network, 64 to 512 channels, stem for small images: model.norm, model.groups",
     "norm groups precision",
     Input::images,
     Target::next,
     make_resnet18,
     [](ModelConfig&) {},
     {3, 32, 32}},
    {"resnet20",
     "residual network for small images, 16 to 64 channels: model.norm, model.groups",
     "norm groups precision",
     Input::images,
     Target::next,
     make_resnet20,
     [](ModelConfig&) {},
     {3, 32, 32}},
    {"ngram", "byte-level neural language model: model.context, model.embedding, model.hidden, model.activation",
     "context embedding hidden activation precision", Input::tokens, Target::next, make_ngram,
     [](ModelConfig& config) { put(config.context, 8); }},
    {"dlrm-nano", "recommendation model: rows of 16, bottom 64-16, top 64-1 (docs/recommenders.md)", kDlrm, Input::bags,
     Target::next, make_dlrm, dlrm_size<16, std::array<Index, 1>{64}, std::array<Index, 1>{64}>},
    {"dlrm-kaggle", "recommendation model: rows of 16, bottom 512-256-64-16, top 512-256-1", kDlrm, Input::bags,
     Target::next, make_dlrm, dlrm_size<16, std::array<Index, 3>{512, 256, 64}, std::array<Index, 2>{512, 256}>},
    {"dlrm-terabyte", "recommendation model: rows of 64, bottom 512-256-64, top 512-512-256-1", kDlrm, Input::bags,
     Target::next, make_dlrm, dlrm_size<64, std::array<Index, 2>{512, 256}, std::array<Index, 3>{512, 512, 256}>},
    {"dlrm-mlperf", "recommendation model: rows of 128, bottom 512-256-128, top 1024-1024-512-256-1", kDlrm,
     Input::bags, Target::next, make_dlrm,
     dlrm_size<128, std::array<Index, 2>{512, 256}, std::array<Index, 4>{1024, 1024, 512, 256}>},
    {"des-lr",
     "logistic regression on tables, split by fields: workers exchange 1 number per example (docs/des.md)",
     "precision tables boundary",
     Input::bags,
     Target::next,
     make_des_lr,
     [](ModelConfig&) {},
     {},
     true},
    {"des-fm",
     "factorization machine split by fields: tables.width k, workers exchange k + 2 numbers per example",
     "precision tables boundary",
     Input::bags,
     Target::next,
     make_des_fm,
     [](ModelConfig& config) { put(config.tables.width, 8); },
     {},
     true},
    {"des-deepfm",
     "des-fm and dense layers on the embeddings: model.hidden H, model.top; k + 2 + H numbers per example",
     "hidden top precision tables boundary",
     Input::bags,
     Target::next,
     make_des_deepfm,
     [](ModelConfig& config) {
       put(config.tables.width, 8);
       if (config.top.empty()) config.top = {64};
     },
     {},
     true},
    {"quadratic",
     "quadratic with known constants: model.dimension, .spectrum, .condition, .rotate, .noise, .heterogeneity, .blocks",
     "dimension blocks spectrum condition rotate noise heterogeneity", Input::none, Target::next, make_quadratic},
    {"bert-nano", "encoder, masked-language loss: 2 blocks, width 128, 4 heads, context 64, dropout 0", kTransformer,
     Input::tokens, Target::masked, make_transformer, bert_size<64, 2, 128, 4, 0>},
    {"bert-mini", "encoder, masked-language loss: 4 blocks, width 256, 4 heads, context 128, dropout 0.1", kTransformer,
     Input::tokens, Target::masked, make_transformer, bert_size<128, 4, 256, 4, 10>},
    {"bert-base", "encoder, masked-language loss: 12 blocks, width 768, 12 heads, context 128, dropout 0.1",
     kTransformer, Input::tokens, Target::masked, make_transformer, bert_size<128, 12, 768, 12, 10>},
    {"bert-large", "encoder, masked-language loss: 24 blocks, width 1024, 16 heads, context 128, dropout 0.1",
     kTransformer, Input::tokens, Target::masked, make_transformer, bert_size<128, 24, 1024, 16, 10>},
    {"gpt-nano", "decoder, causal loss: 2 blocks, width 128, 4 heads, context 64, dropout 0", kTransformer,
     Input::tokens, Target::causal, make_transformer, gpt_size<64, 2, 128, 4, 0>},
    {"gpt2-small", "decoder, causal loss: 12 blocks, width 768, 12 heads, context 1024, dropout 0.1", kTransformer,
     Input::tokens, Target::causal, make_transformer, gpt_size<1024, 12, 768, 12, 10>},
    {"gpt2-medium", "decoder, causal loss: 24 blocks, width 1024, 16 heads, context 1024, dropout 0.1", kTransformer,
     Input::tokens, Target::causal, make_transformer, gpt_size<1024, 24, 1024, 16, 10>},
    {"external", "your own program (docs/external-model.md): model.command, model.timeout, model.context",
     "command timeout context", Input::any, Target::next, make_external,
     [](ModelConfig& config) { put(config.context, 8); }},
};

void check_input(const ModelEntry& entry, const DataSource& data) {
  const std::string where = "model " + std::string(entry.name) + ", data " + data.name();
  const bool tokens = data.vocabulary() > 0, bags = !data.tables().empty();
  const bool nothing = !tokens && !bags && data.feature_count() == 0;
  if (entry.input == Input::any && !bags) return;
  if (nothing != (entry.input == Input::none)) {
    throw ConfigError(
        "the model cannot read the data", where,
        nothing ? "this model reads examples; choose another --data" : "this model reads no data; give --data none");
  }
  if (bags != (entry.input == Input::bags)) {
    throw ConfigError("the model cannot read the data", where,
                      bags ? "these data have bags of table rows; give --model dlrm-nano"
                           : "this model reads bags of table rows; give --data clicks");
  }
  if (entry.input == Input::tokens && !tokens) {
    throw ConfigError("the model cannot read the data", where, "this model reads tokens; give --data text");
  }
  if (entry.input != Input::tokens && tokens) {
    throw ConfigError("the model cannot read the data", where,
                      "this model reads numbers; give --data idx or synthetic");
  }
  if (entry.input == Input::images && data.image() == ImageShape{}) {
    throw ConfigError("the model cannot read the data", where,
                      "this model reads images; give --data idx, or --data synthetic with --data.image");
  }
}

}  // namespace

Index Model::parameters() const {
  return compress::total_size(tensors());
}

std::vector<compress::Tensor> Model::all_tensors() const {
  std::vector<compress::Tensor> all = tensors();
  std::ranges::move(owned_tensors(), std::back_inserter(all));
  return all;
}

std::optional<Constants> Model::constants(const DataSource&) const {
  return {};
}

std::span<const ModelEntry> models() {
  return kModels;
}

const ModelEntry& model_entry(const std::string& name) {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : models()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw ConfigError("unknown model", name, suggestion(name, names));
}

ModelConfig completed(ModelConfig config) {
  model_entry(config.name).complete(config);
  return config;
}

std::unique_ptr<Model> make_model(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  const ModelEntry& entry = model_entry(config.name);
  check_input(entry, data);
  if (config.boundary.compresses() && config.cut == 0 && entry.input != Input::bags) {
    throw ConfigError("the model has no boundary between workers",
                      "boundary.codec " + config.boundary.codec.name + ", model " + config.name,
                      "use a model with tables (dlrm-*, des-*), or cut an mlp or a transformer with --model.cut");
  }
  return entry.make(device.with_precision(config.precision), config, data);
}

}  // namespace onebit::sim
