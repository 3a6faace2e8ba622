// Models of distributed equivalent substitution (Rong et al. 2020): logistic regression, a factorization machine and a
// deep part. Their operators are split by fields. Workers own the parameters of their fields, compute partial results
// for the whole batch, and add these up. What follows is small, and every worker computes all of it. The equations are
// those in docs/des.md.

#include "device/base/error.hpp"
#include "sim/layers/bias_relu.hpp"
#include "sim/layers/binary_logits.hpp"
#include "sim/layers/boundary.hpp"
#include "sim/layers/linear.hpp"
#include "sim/layers/recommender/embedding_bags.hpp"
#include "sim/layers/recommender/factorization.hpp"
#include "sim/layers/recommender/field_sums.hpp"
#include "sim/layers/recommender/sum_parts.hpp"
#include "sim/layers/recommender/table_split.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

using Layers = std::vector<std::unique_ptr<Layer>>;

constexpr double kDeviation = 0.01;  ///< of the initial v

/// Throws ConfigError unless the data's tables can be fields that the workers own.
void check_fields(const ModelConfig& config, const DataSource& data, Index width) {
  const std::string model = ", model " + config.name;
  for (const BagTable& table : data.tables()) {
    if (table.slots == 1) continue;
    throw ConfigError("each field of this model has one row per example", "data " + data.name() + model,
                      "use data whose bags have one row, e.g. --data clicks without --data.bag, or --model dlrm-nano");
  }
  if (parse_table_split(config.tables.split) != TableSplit::table) {
    throw ConfigError("the workers of this model own whole tables", "tables.split " + config.tables.split + model,
                      "leave it out, or use --model dlrm-nano");
  }
  require_shares(config.workers, std::ssize(data.tables()), "tables", "use fewer workers or data with more tables");
  check_capacity(config.tables, elements_owned(TableSplit::table, config.workers, data.tables(), width), width,
                 "use more workers");
}

/// The sums over all fields, as every worker gets them. Sets `tables` to the layer that holds the rows.
std::unique_ptr<Layer> make_sums(const device::Device& device, const ModelConfig& config, const DataSource& data,
                                 Index factors, Index hidden, Parameters& parameters, EmbeddingBags*& tables) {
  const auto fields = std::ssize(data.tables());
  const Index columns = FieldSums::columns(factors, hidden);
  const EmbeddingBags::Shape rows{
      .tables = data.tables(), .width = 1 + factors, .workers = config.workers, .deviation = kDeviation, .zeros = 1};
  const FieldSums::Shape sums{.fields = fields,
                              .factors = factors,
                              .hidden = hidden,
                              .parts = config.workers,
                              .deviation = deviation_before(Activation::relu, fields * factors)};
  Layers layers;
  auto bags = std::make_unique<EmbeddingBags>(device, rows, config.tables, config.seed);
  tables = bags.get();
  layers.push_back(std::move(bags));
  layers.push_back(std::make_unique<FieldSums>(parameters, "layer0", sums));
  layers.push_back(
      std::make_unique<Boundary>(SendingColumns::everyone(config.workers, columns), config.workers, config.boundary));
  layers.push_back(std::make_unique<SumParts>(config.workers, columns));
  return std::make_unique<Sequential>(std::move(layers));
}

/// The layers after the first one of the deep part; null if there is no deep part.
std::unique_ptr<Layer> make_deep(const ModelConfig& config, Index hidden, Parameters& parameters) {
  if (hidden == 0) return nullptr;
  Layers layers;
  layers.push_back(std::make_unique<BiasRelu>(parameters, "layer0", hidden));
  std::vector<Index> widths = {hidden};
  widths.insert(widths.end(), config.top.begin(), config.top.end());
  widths.push_back(1);
  add_dense(widths, Activation::relu, parameters, layers, config);
  return std::make_unique<Sequential>(std::move(layers));
}

/// Makes a model with a vector of `factors` numbers for each table row and, unless `hidden` is 0, a deep part whose
/// first layer has `hidden` units.
std::unique_ptr<Model> make_split(const device::Device& device, const ModelConfig& config, const DataSource& data,
                                  Index factors, Index hidden) {
  check_fields(config, data, 1 + factors);
  Parameters parameters;
  EmbeddingBags* tables = nullptr;
  std::unique_ptr<Layer> sums = make_sums(device, config, data, factors, hidden, parameters, tables);
  std::unique_ptr<Layer> deep = make_deep(config, hidden, parameters);
  const Linear::Shape shape{.inputs = data.feature_count(), .outputs = 1};
  auto dense = std::make_unique<Linear>(parameters, "dense", shape);
  Layers layers;
  layers.push_back(std::make_unique<Factorization>(factors, std::move(dense), std::move(sums), std::move(deep)));
  layers.push_back(std::make_unique<BinaryLogits>());
  return make_network(device, std::move(parameters), std::move(layers), 1, tables);
}

}  // namespace

std::unique_ptr<Model> make_des_lr(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  return make_split(device, config, data, 0, 0);
}

std::unique_ptr<Model> make_des_fm(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  check_size("tables.width", config.tables.width);
  return make_split(device, config, data, config.tables.width, 0);
}

std::unique_ptr<Model> make_des_deepfm(const device::Device& device, const ModelConfig& config,
                                       const DataSource& data) {
  check_size("tables.width", config.tables.width);
  check_size("model.hidden", config.hidden);
  for (const Index width : config.top) check_size("model.top", width);
  return make_split(device, config, data, config.tables.width, config.hidden);
}

}  // namespace onebit::sim
