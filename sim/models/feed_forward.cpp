// Dense layers followed by softmax cross-entropy: `softmax` (no hidden layer), `mlp`, and `ngram` (Bengio et al. 2003
// without the direct connection: embeddings of the last bytes, a hidden layer, 256 logits).

#include "device/base/error.hpp"
#include "sim/layers/sequence/embedding.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

std::unique_ptr<Model> make_dense_network(const device::Device& device, const std::vector<Index>& widths,
                                          Activation activation, const ModelConfig& config) {
  Parameters parameters;
  std::vector<std::unique_ptr<Layer>> layers;
  add_dense(widths, activation, parameters, layers, config);
  return make_network(device, std::move(parameters), std::move(layers));
}

}  // namespace

std::unique_ptr<Model> make_softmax(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  return make_dense_network(device, {data.feature_count(), data.classes()}, Activation::none, config);
}

std::unique_ptr<Model> make_mlp(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  std::vector<Index> widths = config.layers;
  if (widths.empty()) widths = {data.feature_count(), 128, data.classes()};
  for (Index width : widths) check_size("model.layers", width);
  if (widths.size() < 2 || widths.front() != data.feature_count() || widths.back() != data.classes()) {
    throw ConfigError("the layers do not match the data", "model.layers, data " + data.name(),
                      "the first width must be " + std::to_string(data.feature_count()) + ", the last " +
                          std::to_string(data.classes()));
  }
  return make_dense_network(device, widths, parse_activation(config.activation), config);
}

std::unique_ptr<Model> make_ngram(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  check_size("model.embedding", config.embedding);
  check_size("model.hidden", config.hidden);
  const Activation activation = parse_activation(config.activation);
  Parameters parameters;
  std::vector<std::unique_ptr<Layer>> layers;
  const Embedding::Shape shape{
      .vocabulary = data.vocabulary(), .context = data.context(), .width = config.embedding, .deviation = 1.0};
  layers.push_back(std::make_unique<Embedding>(parameters, shape));
  add_dense({data.context() * config.embedding, config.hidden, data.classes()}, activation, parameters, layers, config);
  return make_network(device, std::move(parameters), std::move(layers));
}

}  // namespace onebit::sim
