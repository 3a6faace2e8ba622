#include "sim/data/synthetic.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "device/base/error.hpp"
#include "device/math/philox.hpp"
#include "sim/data/features/dense.hpp"
#include "sim/data/hash.hpp"

namespace onebit::sim {
namespace {

constexpr Index width = 32;  // width of the teacher
constexpr Index default_features = 32;

std::vector<float> normals(Index stream, Index count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const device::RandomKey key{0, device::Purpose::data};
  for (Index i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = device::normal(key, {stream, 0, i});
  return values;
}

/// out = scale * weights * in, with weights [out.size() x in.size()].
void multiply(std::span<const float> weights, std::span<const double> in, double scale, std::span<double> out) {
  for (std::size_t row = 0; row < out.size(); ++row) {
    double sum = 0.0;
    for (std::size_t i = 0; i < in.size(); ++i) sum += static_cast<double>(weights[row * in.size() + i]) * in[i];
    out[row] = sum * scale;
  }
}

std::vector<std::int32_t> teach(const DataConfig& config, std::span<const float> features) {
  const std::vector<float> first = normals(1, width * config.features);
  const std::vector<float> second = normals(2, config.classes * width);
  std::vector<double> x(static_cast<std::size_t>(config.features)), hidden(width);
  std::vector<double> logits(static_cast<std::size_t>(config.classes));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(config.examples));
  for (std::size_t example = 0; example < labels.size(); ++example) {
    const auto row = features.subspan(example * x.size(), x.size());
    std::copy(row.begin(), row.end(), x.begin());
    multiply(first, x, 1.0 / std::sqrt(static_cast<double>(config.features)), hidden);
    for (double& value : hidden) value = std::tanh(value);
    multiply(second, hidden, 1.0, logits);
    labels[example] = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  return labels;
}

void check_size(Index value, Index least, const std::string& option) {
  if (value < least) {
    throw ConfigError(std::to_string(value) + " is too small", option, "it must be at least " + std::to_string(least));
  }
}

/// Fills in the number of features: the default, or the size of an image.
DataConfig completed(DataConfig config) {
  if (config.features == 0) config.features = default_features;
  if (config.image == ImageShape{}) return config;
  const std::vector<Index> sizes = {config.image.channels, config.image.height, config.image.width};
  for (const Index size : sizes) check_size(size, 1, "--data.image");
  config.features = dense_volume(sizes, "--data.image");
  return config;
}

}  // namespace

std::unique_ptr<DataSource> make_synthetic(const DataConfig& given) {
  const DataConfig config = completed(given);
  if (!config.paths.empty()) throw ConfigError("synthetic data reads no files", "--data.path", "leave out --data.path");
  if (!config.test.empty()) throw ConfigError("synthetic data reads no files", "--data.test", "leave out --data.test");
  check_size(config.features, 1, "--data.features");
  check_size(config.classes, 2, "--data.classes");
  check_size(config.examples, 1, "--data.examples");
  const Index volume = dense_volume({config.examples, config.features}, "--data.examples x --data.features");
  dense_volume({config.classes, width}, "--data.classes x teacher width");
  dense_volume({config.features, width}, "--data.features x teacher width");

  DenseExamples examples;
  examples.facts = {.name = "synthetic", .features = config.features, .image = config.image, .classes = config.classes};
  std::vector<float> features = normals(0, volume);
  examples.labels = teach(config, features);
  Fnv1a hash;
  hash.add(features.data(), features.size() * sizeof(float));
  hash.add(examples.labels.data(), examples.labels.size() * sizeof(std::int32_t));
  examples.facts.hash = hash.hex();
  examples.facts.provenance = {"synthetic: " + std::to_string(config.examples) + " examples, " +
                               std::to_string(config.features) + " features, " + std::to_string(config.classes) +
                               " classes"};
  examples.features = float_rows(std::move(features), config.features);
  return make_dense(std::move(examples), config);
}

}  // namespace onebit::sim
