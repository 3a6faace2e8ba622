#pragma once
// Clicks whose bags have one row, and steps of models that are split by fields.

#include <set>

#include "device/comm/communicator.hpp"
#include "sim/models/model.hpp"
#include "tests/devices.hpp"
#include "tests/oracle/des.hpp"
#include "tests/oracle/random.hpp"
#include "tests/sim/table_values.hpp"

namespace onebit::tests {

/// Clicks with two dense features. Rows repeat; some bags are empty.
class FieldClicks final : public sim::DataSource {
 public:
  static constexpr Index kFeatures = 2, kTrain = 400;

  static inline const std::vector<Index> kRows = {5, 9, 4, 30, 6};

  explicit FieldClicks(std::vector<Index> rows = kRows)
      : DataSource({.name = "field-clicks",
                    .features = kFeatures,
                    .context = std::ssize(rows),
                    .tables = tables_of(rows),
                    .classes = 2,
                    .train = kTrain,
                    .holdout = 40},
                   1),
        rows_(std::move(rows)) {}

  const std::vector<Index>& rows_of_tables() const { return rows_; }

  oracle::Click click(Index example) const {
    const std::vector<float> x = oracle::normals(kFeatures, 31, example);
    std::vector<std::int32_t> ids;
    for (Index t = 0; t < std::ssize(rows_); ++t) {
      const Index draw = example * (7 + t) + t * 3 + example * example / 5;
      ids.push_back((example + t) % 11 == 0 ? sim::kNoRow
                                            : static_cast<std::int32_t>(draw % rows_[static_cast<std::size_t>(t)]));
    }
    return {{x.begin(), x.end()}, ids, example % 5 < 2};
  }

 private:
  static std::vector<sim::BagTable> tables_of(const std::vector<Index>& rows) {
    std::vector<sim::BagTable> tables;
    for (const Index each : rows) tables.push_back({each, 1});
    return tables;
  }
  void copy(Split split, Index example, Index row, sim::Batch& out) const override {
    const oracle::Click own = click(split == Split::train ? example : kTrain + example);
    for (std::size_t i = 0; i < own.features.size(); ++i)
      out.features[static_cast<std::size_t>(row * kFeatures) + i] = static_cast<float>(own.features[i]);
    std::copy(own.bags.begin(), own.bags.end(), out.tokens.begin() + row * context());
    out.labels[static_cast<std::size_t>(row)] = own.clicked ? 1 : 0;
  }

  std::vector<Index> rows_;
};

inline sim::ModelConfig field_model(const std::string& name, Index workers) {
  sim::ModelConfig config;
  config.name = name;
  config.tables.width = 3;
  config.hidden = 4;
  config.top = {5};
  config.workers = workers;
  return config;
}

/// Sets a model's tables.
class LoadTables final : public device::StateVisitor {
 public:
  LoadTables(const device::Shard& shard, const std::vector<float>& tables) : StateVisitor(shard), tables_(tables) {}
  bool loads() const override { return true; }

 private:
  void device(const std::string& path, const device::Elements& elements, std::span<const device::Piece>, Index total,
              Held) override {
    if (path.ends_with("tables")) elements.upload(tables_.data(), 0, total);
  }
  void host(const std::string&, std::vector<double>&) override {}
  void host(const std::string&, std::vector<Index>&) override {}

  const std::vector<float>& tables_;
};

/// Steps of SGD. Every step has kExamples examples, however many workers share them.
class FieldSteps {
 public:
  static constexpr Index kExamples = 30;

  FieldSteps(const device::Device& device, const sim::ModelConfig& config,
             const std::vector<Index>& rows = FieldClicks::kRows)
      : device_(device),
        config_(config),
        data_(rows),
        model_(sim::make_model(device, config, data_)),
        shard_(device::whole(device, config.workers)),
        weights_(model_->initial_weights(7)) {}

  /// Moves all weights away from their initial values, so that every term counts.
  void spread() {
    const std::vector<float> dense = oracle::normals(std::ssize(weights_), 41);
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] += 0.3f * dense[i];
    std::vector<float> rows = oracle::normals(std::ssize(tables()), 42);
    for (float& value : rows) value *= 0.5f;
    LoadTables load(shard_, rows);
    model_->visit_state(load);
  }

  /// Runs a step on the examples from kExamples * step on. Returns the mean loss.
  double step(Index step, double lr) {
    traffic_ = {{.group_size = config_.workers, .payload_bytes = 4 * model_->parameters()}};  // what optimizers record
    const device::Buffer<float> weights = on(device_, weights_);
    device::Buffer<float> rows(device_, config_.workers * model_->parameters());
    sim::Batch batch;
    data_.read(sim::DataSource::Split::train, kExamples * step, kExamples, batch);
    batch.workers = config_.workers;
    batch.batch = kExamples / config_.workers;
    batch.place = {.step = step};
    const sim::GradientPass pass = model_->gradients({weights.data(), 0}, batch, {rows.data(), model_->parameters()});
    double loss = 0;
    for (const double each : pass.losses()) loss += each / static_cast<double>(config_.workers);
    model_->end_step({shard_, lr, 1, traffic_});
    gradient_.assign(weights_.size(), 0);
    const std::vector<float> gradients = rows.to_host();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradient_[i % gradient_.size()] += static_cast<double>(gradients[i]) / static_cast<double>(config_.workers);
    }
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      weights_[i] = static_cast<float>(static_cast<double>(weights_[i]) - lr * gradient_[i]);
    }
    return loss;
  }

  sim::Model& model() { return *model_; }
  const std::vector<float>& weights() const { return weights_; }
  const std::vector<double>& gradient() const { return gradient_; }
  const netmodel::TrafficList& traffic() const { return traffic_; }
  std::vector<float> tables() { return tables_of(*model_, shard_); }

  /// Number of rows that a step touches.
  Index distinct(Index step) const {
    std::set<std::pair<std::size_t, std::int32_t>> rows;
    for (Index e = kExamples * step; e < kExamples * (step + 1); ++e) {
      const std::vector<std::int32_t> ids = data_.click(e).bags;
      for (std::size_t t = 0; t < ids.size(); ++t) {
        if (ids[t] >= 0) rows.emplace(t, ids[t]);
      }
    }
    return std::ssize(rows);
  }

  /// The oracle's mean loss of a step.
  double oracle_loss(Index step, const oracle::Vector& weights, const oracle::Vector& tables) const {
    const bool pairs = config_.name != "des-lr", deep = config_.name == "des-deepfm";
    oracle::FieldModel model{.factors = pairs ? config_.tables.width : 0, .hidden = deep ? config_.hidden : 0};
    model.top = config_.top;
    model.top.push_back(1);
    model.rows = data_.rows_of_tables();
    double sum = 0;
    for (Index e = kExamples * step; e < kExamples * (step + 1); ++e)
      sum += oracle::loss(model, weights, tables, data_.click(e));
    return sum / static_cast<double>(kExamples);
  }

 private:
  device::Device device_;
  sim::ModelConfig config_;
  FieldClicks data_;
  std::unique_ptr<sim::Model> model_;
  device::Shard shard_;
  std::vector<float> weights_;
  std::vector<double> gradient_;
  netmodel::TrafficList traffic_;
};

}  // namespace onebit::tests
