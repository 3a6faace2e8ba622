// Deep learning recommendation models (Naumov et al. 2019): a bottom network for the dense features, embedding tables
// that the workers own, the interaction of both, and a top network with one logit.

#include <cmath>

#include "device/base/error.hpp"
#include "sim/layers/binary_logits.hpp"
#include "sim/layers/boundary.hpp"
#include "sim/layers/linear.hpp"
#include "sim/layers/recommender/embedding_bags.hpp"
#include "sim/layers/recommender/interaction.hpp"
#include "sim/layers/recommender/sum_parts.hpp"
#include "sim/layers/recommender/table_split.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

using Layers = std::vector<std::unique_ptr<Layer>>;

/// Adds dense layers with a ReLU after each of them, except after the last one if `ends` is set. Weights are from N(0,
/// 2/(inputs + outputs)), biases from N(0, 1/outputs).
void add_layers(const std::string& name, const std::vector<Index>& widths, bool ends, Parameters& parameters,
                Layers& layers) {
  for (std::size_t l = 1; l < widths.size(); ++l) {
    const auto inputs = static_cast<double>(widths[l - 1]), outputs = static_cast<double>(widths[l]);
    const bool last = ends && l + 1 == widths.size();
    const Linear::Shape shape{.inputs = widths[l - 1],
                              .outputs = widths[l],
                              .activation = last ? Activation::none : Activation::relu,
                              .deviation = std::sqrt(2 / (inputs + outputs)),
                              .bias_deviation = std::sqrt(1 / outputs)};
    layers.push_back(std::make_unique<Linear>(parameters, name + std::to_string(l), shape));
  }
}

std::unique_ptr<Layer> joined(Layers layers) {
  return std::make_unique<Sequential>(std::move(layers));
}

/// The pooled embeddings, as they arrive at the workers that use them.
struct Embeddings {
  std::unique_ptr<Layer> layers;
  EmbeddingBags* tables;  ///< one of the layers
};

Embeddings make_embeddings(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  const TableSplit split = parse_table_split(config.tables.split);
  const auto tables = std::ssize(data.tables());
  if (split == TableSplit::column && config.tables.optimizer == "adagrad") {
    throw ConfigError("row-wise Adagrad needs whole rows", "tables.split column, tables.optimizer adagrad",
                      "use --tables.split table or row, or --tables.optimizer sgd");
  }
  SendingColumns columns = senders_of(split, config.workers, tables, config.tables.width);
  check_capacity(
      config.tables, elements_owned(split, config.workers, data.tables(), config.tables.width), config.tables.width,
      split == TableSplit::row ? "use more workers, or fewer rows (--data.max-rows)"
                               : "use more workers, or --tables.split row, which divides every table evenly");
  const Index parts = split == TableSplit::row ? config.workers : 1;
  const EmbeddingBags::Shape shape{.tables = data.tables(),
                                   .width = config.tables.width,
                                   .parts = parts,
                                   .workers = config.workers,
                                   .copies = split == TableSplit::column ? config.workers : 1};
  Layers layers;
  auto bags = std::make_unique<EmbeddingBags>(device, shape, config.tables, config.seed);
  EmbeddingBags* owned = bags.get();
  layers.push_back(std::move(bags));
  layers.push_back(std::make_unique<Boundary>(std::move(columns), config.workers, config.boundary));
  if (parts > 1) layers.push_back(std::make_unique<SumParts>(parts, tables * config.tables.width));
  return {joined(std::move(layers)), owned};
}

}  // namespace

std::unique_ptr<Model> make_dlrm(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  check_size("tables.width", config.tables.width);
  for (const Index width : config.bottom) check_size("model.bottom", width);
  for (const Index width : config.top) check_size("model.top", width);
  if (config.interaction != "dot" && config.interaction != "cat") {
    throw ConfigError("unknown interaction", "model.interaction " + config.interaction, "dot or cat");
  }
  Parameters parameters;
  Layers bottom, layers;
  std::vector<Index> widths = {data.feature_count()};
  widths.insert(widths.end(), config.bottom.begin(), config.bottom.end());
  widths.push_back(config.tables.width);
  add_layers("bottom", widths, false, parameters, bottom);
  Embeddings embeddings = make_embeddings(device, config, data);
  layers.push_back(
      std::make_unique<Interaction>(config.interaction == "dot" ? Interaction::Kind::dot : Interaction::Kind::cat,
                                    joined(std::move(bottom)), std::move(embeddings.layers)));
  widths = {layers.back()->outputs()};
  widths.insert(widths.end(), config.top.begin(), config.top.end());
  widths.push_back(1);
  add_layers("top", widths, true, parameters, layers);
  layers.push_back(std::make_unique<BinaryLogits>());
  return make_network(device, std::move(parameters), std::move(layers), 1, embeddings.tables);
}

}  // namespace onebit::sim
