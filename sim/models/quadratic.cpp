#include "sim/models/quadratic.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "device/base/error.hpp"
#include "device/base/text.hpp"
#include "device/launch/launch.hpp"
#include "device/launch/stopwatch.hpp"
#include "sim/models/makers.hpp"

namespace onebit::sim {
namespace {

void check(const ModelConfig& config) {
  check_size("model.dimension", config.dimension);
  check_size("model.blocks", config.blocks);
  const auto check_at_least = [](const std::string& option, double value, double least) {
    if (std::isfinite(value) && value >= least) return;
    throw ConfigError("option out of range", option + " " + shortest(value), "at least " + shortest(least));
  };
  check_at_least("model.condition", config.condition, 1);
  check_at_least("model.noise", config.noise, 0);
  check_at_least("model.heterogeneity", config.heterogeneity, 0);
  if (config.blocks > config.dimension) {
    throw ConfigError("more tensors than parameters", "model.blocks " + std::to_string(config.blocks),
                      "at most model.dimension");
  }
  if (config.heterogeneity > 0 && config.workers < 2) {
    throw ConfigError("heterogeneity needs at least two workers", "model.heterogeneity, workers 1",
                      "set it to 0, or use more workers");
  }
}

/// Eigenvalues between 1 and 1 / condition, as a function of the place t in [0, 1].
class Spectrum {
 public:
  explicit Spectrum(const ModelConfig& config) : kind_(config.spectrum), condition_(config.condition) {
    if (kind_ == "linear" || kind_ == "log" || kind_ == "flat") return;
    const std::string digits = kind_.starts_with("power:") ? kind_.substr(6) : "";
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), power_);
    if (code != std::errc() || end != digits.data() + digits.size() || !(power_ > 0 && power_ <= 100)) {
      throw ConfigError("unknown spectrum", "model.spectrum " + kind_,
                        "linear, log, flat, or power:P with P in (0, 100]");
    }
    if (!std::isfinite(std::pow(condition_, 1 / power_))) {
      throw ConfigError("the spectrum overflows",
                        "model.spectrum " + kind_ + ", model.condition " + shortest(condition_),
                        "use a larger power or a smaller condition number");
    }
  }

  double operator()(double t) const {
    if (kind_ == "flat") return 1;
    if (kind_ == "linear") return 1 - (1 - 1 / condition_) * t;
    if (kind_ == "log") return std::pow(condition_, -t);
    return std::pow(1 + (std::pow(condition_, 1 / power_) - 1) * t, -power_);
  }

 private:
  std::string kind_;
  double condition_;
  double power_ = 0;
};

std::vector<double> eigenvalues(const ModelConfig& config) {
  const Spectrum spectrum(config);
  std::vector<double> values(static_cast<std::size_t>(config.dimension));
  const double last = std::max(1.0, static_cast<double>(config.dimension - 1));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = spectrum(static_cast<double>(i) / last);
  return values;
}

Parameters parameters_of(const ModelConfig& config) {
  Parameters parameters;
  for (Index block = 0; block < config.blocks; ++block) {
    const Index size = config.dimension / config.blocks + (block < config.dimension % config.blocks ? 1 : 0);
    parameters.add_normal("block" + std::to_string(block + 1), 1, size, 1.0);
  }
  return parameters;
}

QuadraticTilt tilt_of(const ModelConfig& config) {
  const Index half = config.workers / 2;
  if (config.heterogeneity == 0) return {half, 0};
  const double tilted = 2 * static_cast<double>(half) / static_cast<double>(config.workers);
  return {half, config.heterogeneity / std::sqrt(tilted * static_cast<double>(config.dimension))};
}

std::vector<float> optimum_of(Index size) {
  std::vector<float> optimum(static_cast<std::size_t>(size));
  for (Index i = 0; i < size; ++i) {
    optimum[static_cast<std::size_t>(i)] = device::normal({0, device::Purpose::data}, {4, 0, i});
  }
  return optimum;
}

}  // namespace

Quadratic::Quadratic(const device::Device& device, const ModelConfig& config) : device_(device) {
  check(config);
  parameters_ = parameters_of(config);
  tilt_ = tilt_of(config);
  chunks_ = device::Chunks(config.dimension);
  const std::vector<double> values = eigenvalues(config);
  std::vector<double> diagonal = values, cross(values.size());
  for (std::size_t i = 0; i < values.size() && config.rotate; ++i) {
    const double mirrored = values[values.size() - 1 - i];
    diagonal[i] = (values[i] + mirrored) / 2;
    cross[i] = std::fabs(values[i] - mirrored) / 2;
  }
  diagonal_ = device::Buffer<double>::copy_of(device, diagonal);
  cross_ = device::Buffer<double>::copy_of(device, cross);
  optimum_ = device::Buffer<float>::copy_of(device, optimum_of(config.dimension));
  constants_ = {.smoothness = values.front(),
                .convexity = values.back(),
                .noise = config.noise,
                .heterogeneity = config.heterogeneity,
                .optimum_loss = 0};
}

QuadraticForm Quadratic::form() const {
  return {parameters(), diagonal_.data(), cross_.data(), optimum_.data()};
}

QuadraticNoise Quadratic::noise(const Batch& batch) const {
  return {{batch.place.seed, device::Purpose::noise},
          batch.place.step,
          batch.place.first_draw,
          batch.batch,
          parameters(),
          constants_.noise / std::sqrt(static_cast<double>(parameters()))};
}

GradientPass Quadratic::gradients(const Weights& weights, const Batch& batch, const GradientRows& rows) {
  device::Stopwatch watch(device_);
  grow(losses_, device_, std::max<Index>(1, batch.workers));
  const QuadraticGradientTerm kernel{
      form(),    tilt_,       noise(batch), batch.place.first_worker,       weights.data, weights.stride,
      rows.data, rows.stride, rows.add,     static_cast<double>(rows.scale)};
  reduce(device_, batch.workers, chunks_, kernel, losses_.data());
  return {.losses = [losses = losses_.fetch(batch.workers)] { return losses; }, .backward = watch.lap()};
}

Evaluation Quadratic::evaluate(const Weights& weights, const Batch&) {
  grow(losses_, device_, 1);
  reduce(device_, 1, chunks_, QuadraticValueTerm{form(), weights.data}, losses_.data());
  Evaluation result{.examples = 1};
  losses_.download({&result.loss, 1});
  return result;
}

std::unique_ptr<Model> make_quadratic(const device::Device& device, const ModelConfig& config, const DataSource&) {
  return std::make_unique<Quadratic>(device, config);
}

}  // namespace onebit::sim
