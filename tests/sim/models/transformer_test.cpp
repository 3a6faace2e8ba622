// Whole transformers compared with the oracle in double precision, and their sizes.
#include <algorithm>
#include <cmath>

#include "device/base/error.hpp"
#include "sim/models/model.hpp"
#include "tests/catch.hpp"
#include "tests/devices.hpp"
#include "tests/folder.hpp"
#include "tests/oracle/random.hpp"
#include "tests/oracle/transformer.hpp"

using namespace onebit;
using namespace onebit::sim;
using namespace onebit::tests;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint32_t kSeed = 3;
constexpr Index kStep = 4;

std::unique_ptr<DataSource> text_data(const std::string& model, Index context) {
  const Folder folder;
  std::string text;
  for (int i = 0; i < 80; ++i) text += "line " + std::to_string(i * i) + "\n";
  return make_data({.name = "text",
                    .paths = {folder.write("text.txt", text)},
                    .seed = kSeed,
                    .context = context,
                    .target = model_entry(model).target});
}

ModelConfig small(const std::string& name) {
  ModelConfig config;
  config.name = name;
  config.context = 5;
  config.depth = 2;
  config.width = 6;
  config.heads = 2;
  return completed(config);
}

oracle::Transformer oracle_of(const ModelConfig& config, const DataSource& data) {
  return {.vocabulary = data.vocabulary(),
          .context = config.context,
          .depth = config.depth,
          .width = config.width,
          .heads = config.heads,
          .causal = model_entry(config.name).target == Target::causal,
          .pre = config.layer_norm == "pre",
          .tied = config.tied};
}

/// A model, the gradients of a batch, and the oracle's loss of a worker at other weights.
class Comparison {
 public:
  Comparison(const ModelConfig& config, const std::string& backend, bool own_weights)
      : config_(config),
        data_(text_data(config.name, config.context)),
        network_(oracle_of(config, *data_)),
        device_(device_of(backend)),
        model_(make_model(device_, config, *data_)) {
    data_->sample(kStep, {kFirst, kWorkers}, kBatch, batch_, kFirstDraw);
    for (Index row = 0; row < (own_weights ? kWorkers : 1); ++row) {
      const std::vector<float> noise = oracle::normals(model_->parameters(), 5, row);
      const std::vector<float> initial = model_->initial_weights(kSeed);
      for (std::size_t i = 0; i < noise.size(); ++i) weights_.push_back(initial[i] + 0.2f * noise[i]);
    }
    own_weights_ = own_weights;
    losses_.resize(kWorkers);
    rows_ = gradients();
  }

  const Model& model() const { return *model_; }
  double loss(Index worker) const { return losses_[static_cast<std::size_t>(worker)]; }
  double gradient(Index worker, Index i) const {
    return static_cast<double>(rows_[static_cast<std::size_t>(worker * model_->parameters() + i)] - kBefore) / kScale;
  }

  /// Returns a token of the worker's first example.
  Index token(Index worker) const { return batch_.tokens[static_cast<std::size_t>(worker * kBatch * config_.context)]; }

  oracle::Vector weights(Index worker) const {
    const auto begin = weights_.begin() + (own_weights_ ? worker * model_->parameters() : 0);
    return {begin, begin + model_->parameters()};
  }
  double oracle_loss(Index worker, const oracle::Vector& weights) const {
    double sum = 0;
    Index labels = 0;
    for (Index b = 0; b < kBatch; ++b) {
      const auto masks = [&](Index resources) {
        return oracle::dropout(config_.dropout, kSeed, kStep, kFirst + worker, kFirstDraw + b, resources);
      };
      const oracle::Tokens own = row(batch_.labels, worker * kBatch + b);
      sum += oracle::loss_of(network_, weights, row(batch_.tokens, worker * kBatch + b), own, masks);
      labels += std::count_if(own.begin(), own.end(), [](std::int32_t label) { return label != kNoLabel; });
    }
    return sum / static_cast<double>(labels);
  }

  static constexpr Index kWorkers = 3;

 private:
  static constexpr Index kBatch = 2, kFirst = 1, kFirstDraw = 6;
  static constexpr float kBefore = 0.25f;
  static constexpr double kScale = 0.5;

  std::vector<float> gradients() {
    device::Buffer<float> weights = on(device_, weights_);
    device::Buffer<float> rows =
        on(device_, std::vector<float>(static_cast<std::size_t>(kWorkers * model_->parameters()), kBefore));
    losses_ = model_
                  ->gradients({weights.data(), own_weights_ ? model_->parameters() : 0}, batch_,
                              {rows.data(), model_->parameters(), true, static_cast<float>(kScale)})
                  .losses();
    return rows.to_host();
  }
  oracle::Tokens row(const std::vector<std::int32_t>& values, Index example) const {
    const auto begin = values.begin() + example * config_.context;
    return {begin, begin + config_.context};
  }

  ModelConfig config_;
  std::unique_ptr<DataSource> data_;
  oracle::Transformer network_;
  device::Device device_;
  std::unique_ptr<Model> model_;
  Batch batch_;
  bool own_weights_ = false;
  std::vector<float> weights_;
  std::vector<double> losses_;
  std::vector<float> rows_;
};

/// Returns at most five coordinates of a tensor that begins at `offset`; for the embedding, those of one token.
std::vector<Index> some_coordinates(const compress::Tensor& tensor, Index offset, Index token) {
  const Index columns = tensor.size / tensor.rows;
  const bool embedding = tensor.name == "embedding";
  const Index first = offset + (embedding ? token * columns : 0), count = embedding ? columns : tensor.size;
  std::vector<Index> result;
  for (Index i = 0; i < std::min<Index>(5, count); ++i) result.push_back(first + i * count / 5);
  return result;
}

void check_model(const ModelConfig& config, const std::string& backend, bool own_weights) {
  CAPTURE(config.name, config.layer_norm, config.dropout, config.tied, backend, own_weights);
  const Comparison compared(config, backend, own_weights);
  constexpr double step = 1e-5;
  for (Index worker = 0; worker < Comparison::kWorkers; worker += 2) {
    oracle::Vector weights = compared.weights(worker);
    CHECK(compared.loss(worker) == Approx(compared.oracle_loss(worker, weights)).epsilon(1e-5));
    Index offset = 0;
    for (const compress::Tensor& tensor : compared.model().tensors()) {
      double largest = 0, worst = 0;
      for (const Index i : some_coordinates(tensor, offset, compared.token(worker))) {
        double& weight = weights[static_cast<std::size_t>(i)];
        const double middle = weight;
        weight = middle + step;
        const double above = compared.oracle_loss(worker, weights);
        weight = middle - step;
        const double expected = (above - compared.oracle_loss(worker, weights)) / (2 * step);
        weight = middle;
        largest = std::max(largest, std::fabs(expected));
        worst = std::max(worst, std::fabs(compared.gradient(worker, i) - expected));
      }
      CAPTURE(worker, tensor.name);
      CHECK(largest > 0);
      CHECK(worst < 1e-6 + 1e-3 * largest);
      offset += tensor.size;
    }
  }
}

/// Text whose source reports the same properties as a word-piece vocabulary.
class Words final : public DataSource {
 public:
  Words(Index vocabulary, Index context)
      : DataSource({.name = "words",
                    .context = context,
                    .vocabulary = vocabulary,
                    .targets = context,
                    .classes = vocabulary,
                    .train = 1},
                   1) {}

 private:
  void copy(Split, Index, Index, Batch&) const override {}
};

Index parameters_of(const std::string& name, Index vocabulary, Index context) {
  ModelConfig config;
  config.name = name;
  config.context = context;
  config = completed(config);
  return make_model(device::Device::cpu(1), config, Words(vocabulary, config.context))->parameters();
}

}  // namespace

TEST_CASE("transformers: losses and gradients are those of the oracle, with dropout") {
  for (const std::string name : {"bert-nano", "gpt-nano"}) {
    for (const bool own_weights : {false, true}) {
      ModelConfig config = small(name);
      config.dropout = 0.25;
      for (const std::string& backend : backends()) check_model(config, backend, own_weights);
    }
  }
}

TEST_CASE("transformers: losses and gradients with the other norm, and without a tied output") {
  ModelConfig bert = small("bert-nano"), gpt = small("gpt-nano");
  bert.layer_norm = "pre";
  gpt.layer_norm = "post";
  for (ModelConfig config : {bert, gpt}) {
    check_model(config, "cpu", false);
    config.tied = false;
    check_model(config, "cpu", true);
  }
}

TEST_CASE("transformers: the presets have the published numbers of parameters") {
  // BertForMaskedLM has 109,514,298 and 335,174,458 with two token types, which are left out here: 2 x width. GPT-2 has
  // 124,439,808 and 354,823,168.
  CHECK(parameters_of("bert-base", 30522, 512) == 109514298 - 2 * 768);
  CHECK(parameters_of("bert-large", 30522, 512) == 335174458 - 2 * 1024);
  CHECK(parameters_of("gpt2-small", 50257, 0) == 124439808);
  CHECK(parameters_of("gpt2-medium", 50257, 0) == 354823168);
  // Embeddings, two blocks of 12 width^2 + 13 width, final norm.
  CHECK(parameters_of("gpt-nano", 256, 0) == (256 + 64) * 128 + 2 * (12 * 128 * 128 + 13 * 128) + 2 * 128);
  // The same with the norm on the embeddings instead; transform with its norm, bias of the logits.
  CHECK(parameters_of("bert-nano", 257, 0) ==
        (257 + 64) * 128 + 2 * 128 + 2 * (12 * 128 * 128 + 13 * 128) + 128 * 128 + 3 * 128 + 257);
  CHECK(parameters_of("bert-mini", 257, 0) ==
        (257 + 128) * 256 + 2 * 256 + 4 * (12 * 256 * 256 + 13 * 256) + 256 * 256 + 3 * 256 + 257);
}

TEST_CASE("transformers: the sizes that bert-base and its kind are published with are their own") {
  const ModelConfig bert = completed({.name = "bert-base", .layers = {}});
  CHECK(bert.layer_norm == "post");
  CHECK(bert.dropout == 0.1);
  CHECK(bert.context == 128);
  const ModelConfig gpt = completed({.name = "gpt2-small", .layers = {}});
  CHECK(gpt.layer_norm == "pre");
  CHECK(gpt.dropout == 0.1);
  CHECK(gpt.context == 1024);
  CHECK(completed({.name = "bert-nano", .layers = {}}).dropout == 0);
  ModelConfig own;
  own.name = "bert-base";
  own.depth = 3;
  own.dropout = 0;
  CHECK(completed(own).depth == 3);
  CHECK(completed(own).dropout == 0);
}

TEST_CASE("transformers: weights begin with deviation 0.02, a decoder's projections to the residual stream smaller") {
  ModelConfig config = small("gpt-nano");
  config.width = 64;
  for (const std::string name : {"gpt-nano", "bert-nano"}) {
    config.name = name;
    const auto model = make_model(device::Device::cpu(1), config, *text_data(name, config.context));
    const std::vector<float> weights = model->initial_weights(1);
    auto weight = weights.begin();
    for (const compress::Tensor& tensor : model->tensors()) {
      double squares = 0;
      for (Index i = 0; i < tensor.size; ++i) squares += std::pow(static_cast<double>(*weight++), 2);
      const bool projects = name == "gpt-nano" && tensor.name.ends_with(".out.weight");
      const bool norm = tensor.name.ends_with("norm.weight");
      const double expected = norm ? 1 : tensor.rows == 1 ? 0 : projects ? 0.02 / 2 : 0.02;
      CAPTURE(name, tensor.name);
      CHECK(std::sqrt(squares / static_cast<double>(tensor.size)) == Approx(expected).epsilon(0.15));
    }
  }
}

TEST_CASE("transformers: operations of the products are counted") {
  const ModelConfig config = small("gpt-nano");
  const auto data = text_data(config.name, config.context);
  const auto model = make_model(device::Device::cpu(1), config, *data);
  const double per_position = 2 * (12 * 6 * 6) + 256 * 6, attention = 2 * 2 * 5 * 5 * 6;
  CHECK(model->gradient_flops(3) == 3 * (3 * 2 * 5 * per_position + 3 * 2 * attention));
}

TEST_CASE("transformers: what cannot be built is an error that names the option") {
  const auto data = text_data("bert-nano", 5);
  const auto refuses = [&](const auto& change, const std::string& option) {
    ModelConfig config = small("bert-nano");
    change(config);
    CHECK_THROWS_AS(make_model(device::Device::cpu(1), config, *data), ConfigError);
    CHECK_THROWS_WITH(make_model(device::Device::cpu(1), config, *data), Contains(option));
  };
  refuses([](ModelConfig& config) { config.depth = -1; }, "model.depth -1");
  refuses([](ModelConfig& config) { config.depth = 257; }, "model.depth 257");
  refuses([](ModelConfig& config) { config.width = 1 << 21; }, "model.width");
  refuses([](ModelConfig& config) { config.heads = 4; }, "model.heads 4");
  refuses([](ModelConfig& config) { config.layer_norm = "both"; }, "model.layer-norm both");
  refuses([](ModelConfig& config) { config.dropout = 1; }, "model.dropout 1");
  refuses([](ModelConfig& config) { config.dropout = -0.5; }, "model.dropout -0.5");
  refuses([](ModelConfig& config) { config.dropout = std::nan(""); }, "model.dropout");
}
