#include <numeric>

#include "device/error.hpp"
#include "device/text.hpp"
#include "sim/models/feed_forward.hpp"

namespace onebit::sim {
namespace {

Activation parse_activation(const std::string& name) {
  if (name == "relu") return Activation::relu;
  if (name == "gelu") return Activation::gelu;
  throw ConfigError("unknown activation", "model.activation " + name, "relu or gelu");
}

void check_size(const std::string& option, Index value) {
  if (value < 1 || value > 1 << 20) {
    throw ConfigError("model size out of range", option + " " + std::to_string(value), "from 1 to 1048576");
  }
}

std::unique_ptr<Model> make_softmax(const device::Device& device, const ModelConfig&, const DataSource& data) {
  return std::make_unique<FeedForward>(device, FeedForwardShape{.widths = {data.feature_count(), data.classes()}});
}

std::unique_ptr<Model> make_mlp(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  std::vector<Index> widths = config.layers;
  if (widths.empty()) widths = {data.feature_count(), 128, data.classes()};
  for (Index width : widths) check_size("model.layers", width);
  if (widths.size() < 2 || widths.front() != data.feature_count() || widths.back() != data.classes()) {
    throw ConfigError("layers do not fit the data", "model.layers, data " + data.name(),
                      "the first width must be " + std::to_string(data.feature_count()) + ", the last " +
                          std::to_string(data.classes()));
  }
  return std::make_unique<FeedForward>(
      device, FeedForwardShape{.widths = widths, .activation = parse_activation(config.activation)});
}

std::unique_ptr<Model> make_ngram(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  check_size("model.embedding", config.embedding);
  check_size("model.hidden", config.hidden);
  return std::make_unique<FeedForward>(
      device, FeedForwardShape{.widths = {data.context() * config.embedding, config.hidden, data.classes()},
                               .activation = parse_activation(config.activation),
                               .vocabulary = 256,
                               .context = data.context(),
                               .embedding = config.embedding});
}

constexpr ModelEntry kModels[] = {
    {"softmax", "softmax regression on dense features (convex)", false, make_softmax},
    {"mlp", "fully connected network on dense features: model.layers, model.activation", false, make_mlp},
    {"ngram", "byte-level neural language model: model.context, model.embedding, model.hidden, model.activation", true,
     make_ngram},
};

}  // namespace

Index Model::parameters() const {
  return tensors().back().offset + tensors().back().size;
}

std::span<const ModelEntry> models() {
  return kModels;
}

std::unique_ptr<Model> make_model(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  std::vector<std::string_view> names;
  for (const ModelEntry& entry : models()) {
    names.push_back(entry.name);
    if (entry.name != config.name) continue;
    if (entry.tokens != (data.feature_count() == 0)) {
      throw ConfigError(
          "model and data do not fit", "model " + config.name + ", data " + data.name(),
          entry.tokens ? "this model reads bytes: --data text" : "this model reads numbers: --data idx or synthetic");
    }
    return entry.make(device, config, data);
  }
  throw ConfigError("unknown model", config.name, suggestion(config.name, names));
}

}  // namespace onebit::sim
