#include "sim/models/logistic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/launch/launch.hpp"
#include "device/math/philox.hpp"
#include "sim/layers/margin.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

Penalty penalty_of(const ModelConfig& config) {
  if (!(std::isfinite(config.lambda) && config.lambda >= 0)) {
    throw ConfigError("option out of range", "model.lambda " + shortest(config.lambda), "a finite number, at least 0");
  }
  if (config.regulariser == "none") return {Regulariser::none, 0};
  if (config.regulariser == "l2") return {Regulariser::l2, config.lambda};
  if (config.regulariser == "nonconvex") return {Regulariser::nonconvex, config.lambda};
  throw ConfigError("unknown regulariser", "model.regulariser " + config.regulariser, "l2, nonconvex or none");
}

/// Returns X^T X v / n over the training examples.
std::vector<double> multiply(const DataSource& data, bool bias, const std::vector<double>& v, Batch& batch) {
  constexpr Index block = 256;
  const auto features = static_cast<std::size_t>(data.feature_count());
  std::vector<double> result(v.size(), 0.0);
  for (Index first = 0; first < data.train_size(); first += block) {
    data.read(DataSource::Split::train, first, std::min(block, data.train_size() - first), batch);
    for (std::size_t row = 0; row < static_cast<std::size_t>(batch.batch); ++row) {
      const float* x = batch.features.data() + row * features;
      double along = bias ? v[features] : 0.0;
      for (std::size_t i = 0; i < features; ++i) along += static_cast<double>(x[i]) * v[i];
      for (std::size_t i = 0; i < features; ++i) result[i] += static_cast<double>(x[i]) * along;
      if (bias) result[features] += along;
    }
  }
  for (double& each : result) each /= static_cast<double>(data.train_size());
  return result;
}

double norm(const std::vector<double>& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

/// Returns lambda_max(X^T X) / n.
double largest_eigenvalue(const DataSource& data, bool bias) {
  std::vector<double> v(static_cast<std::size_t>(data.feature_count() + (bias ? 1 : 0)));
  for (std::size_t i = 0; i < v.size(); ++i) {
    v[i] = static_cast<double>(device::normal({0, device::Purpose::data}, {5, 0, static_cast<Index>(i)}));
  }
  Batch batch;
  double quotient = 0;
  for (int round = 0; round < 200; ++round) {
    const double length = norm(v);
    if (length == 0) return 0;
    for (double& each : v) each /= length;
    std::vector<double> next = multiply(data, bias, v, batch);
    const double before = std::exchange(quotient, std::inner_product(v.begin(), v.end(), next.begin(), 0.0));
    if (std::fabs(quotient - before) <= 1e-9 * quotient) break;
    v = std::move(next);
  }
  return quotient;
}

}  // namespace

GradientPass Logistic::gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) {
  GradientPass pass = network_->gradients(weights, batch, rows);
  if (penalty_.regulariser == Regulariser::none) return pass;
  grow(charges_, device_, batch.workers);
  const PenaltyGradientTerm term{
      {penalty_, weights.data, weights.stride}, static_cast<double>(rows.scale), rows.data, rows.stride};
  reduce(device_, batch.workers, chunks_, term, charges_.data());
  pass.losses = [losses = pass.losses, charges = charges_.fetch(batch.workers)] {
    std::vector<double> sums = losses();
    std::transform(sums.begin(), sums.end(), charges.begin(), sums.begin(), std::plus<double>());
    return sums;
  };
  return pass;
}

Evaluation Logistic::evaluate(const Weights& weights, const Batch& batch) {
  Evaluation result = network_->evaluate(weights, batch);
  grow(charges_, device_, 1);
  reduce(device_, 1, chunks_, PenaltyTerm{penalty_, weights.data, 0}, charges_.data());
  double charge = 0;
  charges_.download({&charge, 1});
  result.loss += charge * static_cast<double>(result.examples);
  return result;
}

std::optional<Constants> Logistic::constants(const DataSource& data) const {
  const bool convex = penalty_.regulariser != Regulariser::nonconvex;
  return Constants{.smoothness = largest_eigenvalue(data, bias_) / 4 + (convex ? 1 : 2) * penalty_.lambda,
                   .convexity = convex ? penalty_.lambda : -penalty_.lambda / 2};
}

std::unique_ptr<Model> make_logistic(const device::Device& device, const ModelConfig& config, const DataSource& data) {
  if (data.classes() != 2) {
    throw ConfigError("the data have " + std::to_string(data.classes()) + " classes",
                      "model logistic, data " + data.name(),
                      "this model takes two classes; use --model softmax for more");
  }
  const Penalty penalty = penalty_of(config);
  Parameters parameters;
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<Margin>(parameters, data.feature_count(), config.bias));
  return std::make_unique<Logistic>(device, make_network(device, std::move(parameters), std::move(layers)), penalty,
                                    config.bias);
}

}  // namespace onebit::sim
