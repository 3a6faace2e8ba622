#pragma once
// One step of a recommendation model on a few clicks, and the oracle's view of it.

#include "device/comm/communicator.hpp"
#include "sim/models/model.hpp"
#include "tests/devices.hpp"
#include "tests/sim/models/recommender_data.hpp"
#include "tests/sim/table_values.hpp"

namespace onebit::tests {

inline sim::ModelConfig few_clicks_model(Index workers) {
  sim::ModelConfig config;
  config.name = "dlrm-nano";
  config.tables.width = 4;
  config.bottom = {6};
  config.top = {5};
  config.tables.lr = 1;
  config.workers = workers;
  return config;
}

/// A step of SGD with rate 1 on the tables. The dense weights stay, and their gradients are averaged.
class HybridStep {
 public:
  static constexpr Index kExamples = 12;

  HybridStep(const device::Device& device, const sim::ModelConfig& config)
      : config_(config), model_(sim::make_model(device, config, data_)), shard_(device::whole(device, config.workers)) {
    weights_ = model_->initial_weights(7);
    before_ = tables_of(*model_, shard_);
    const device::Buffer<float> weights = on(device, weights_);
    device::Buffer<float> rows(device, config.workers * model_->parameters());
    sim::Batch batch;
    data_.read(sim::DataSource::Split::train, 0, kExamples, batch);
    batch.workers = config.workers;
    batch.batch = kExamples / config.workers;
    batch.place.step = 1;
    const sim::GradientPass pass = model_->gradients({weights.data(), 0}, batch, {rows.data(), model_->parameters()});
    for (const double loss : pass.losses()) loss_ += loss / static_cast<double>(config.workers);
    model_->end_step({shard_, 0.25, 1, traffic_});
    after_ = tables_of(*model_, shard_);
    const std::vector<float> gradients = rows.to_host();
    dense_.resize(weights_.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      dense_[i % dense_.size()] += static_cast<double>(gradients[i]) / static_cast<double>(config.workers);
    }
  }

  double loss() const { return loss_; }
  const netmodel::TrafficList& traffic() const { return traffic_; }
  const std::vector<double>& dense_gradient() const { return dense_; }
  /// The change of the tables, with the sign of a gradient.
  std::vector<double> table_gradient() const {
    std::vector<double> result;
    for (std::size_t i = 0; i < before_.size(); ++i)
      result.push_back(static_cast<double>(before_[i]) - static_cast<double>(after_[i]));
    return result;
  }
  const std::vector<float>& tables_after() const { return after_; }

  /// Masks on the pooled embeddings of each example; all 1 unless set.
  std::vector<oracle::Vector> masks = {};

  /// The mean loss, of other weights or tables.
  double oracle_loss(const oracle::Vector& weights, const oracle::Vector& tables) const {
    const oracle::Recommender model = recommender(tables);
    double sum = 0;
    for (Index e = 0; e < kExamples; ++e) {
      sum += oracle::loss(model, weights, FewClicks::click(e),
                          masks.empty() ? oracle::Vector() : masks[static_cast<std::size_t>(e)]);
    }
    return sum / static_cast<double>(kExamples);
  }
  oracle::Vector dense_differences() const {
    return central_differences({weights_.begin(), weights_.end()},
                               [&](const oracle::Vector& w) { return oracle_loss(w, old_tables()); });
  }
  oracle::Vector table_differences() const {
    return central_differences(old_tables(), [&](const oracle::Vector& t) {
      return oracle_loss({weights_.begin(), weights_.end()}, t);
    });
  }
  oracle::Recommender recommender(const oracle::Vector& tables) const {
    oracle::Recommender model{.bottom = {FewClicks::kFeatures}, .top = {}, .dot = config_.interaction == "dot"};
    model.bottom.insert(model.bottom.end(), config_.bottom.begin(), config_.bottom.end());
    model.bottom.push_back(config_.tables.width);
    model.top = config_.top;
    model.top.push_back(1);
    auto at = tables.begin();
    for (const sim::BagTable& table : data_.tables()) {
      model.slots.push_back(table.slots);
      model.tables.emplace_back(at, at + table.rows * config_.tables.width);
      at += table.rows * config_.tables.width;
    }
    return model;
  }
  oracle::Vector old_tables() const { return {before_.begin(), before_.end()}; }

 private:
  FewClicks data_;
  sim::ModelConfig config_;
  std::unique_ptr<sim::Model> model_;
  device::Shard shard_;
  std::vector<float> weights_, before_, after_;
  std::vector<double> dense_;
  double loss_ = 0;
  netmodel::TrafficList traffic_;
};

}  // namespace onebit::tests
