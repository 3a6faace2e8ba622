#include "sim/data/dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "device/error.hpp"
#include "sim/data/split.hpp"

namespace onebit::sim {
namespace {

class DenseSource final : public DataSource {
 public:
  DenseSource(DenseExamples examples, std::vector<std::uint32_t> order, std::uint32_t seed)
      : DataSource(std::move(examples.facts), seed),
        features_(std::move(examples.features)),
        labels_(std::move(examples.labels)),
        order_(std::move(order)) {}

 private:
  void copy(Split split, Index example, Index row, Batch& out) const override {
    const Index place = example + (split == Split::holdout ? train_size() : 0);
    const Index source = order_[static_cast<std::size_t>(place)];
    std::copy_n(features_.begin() + source * feature_count(), feature_count(),
                out.features.begin() + row * feature_count());
    out.labels[static_cast<std::size_t>(row)] = labels_[static_cast<std::size_t>(source)];
  }

  std::vector<float> features_;
  std::vector<std::int32_t> labels_;
  std::vector<std::uint32_t> order_;  // the training split, then the held-out split
};

/// Sum of f(value) over the training split, in the split's order: the same bits on every machine.
template <typename Function>
double train_sum(const DenseExamples& examples, std::span<const std::uint32_t> train, Function f) {
  double sum = 0.0;
  for (const std::uint32_t example : train) {
    const auto first = examples.features.begin() + static_cast<Index>(example) * examples.facts.features;
    for (auto value = first; value != first + examples.facts.features; ++value) sum += f(static_cast<double>(*value));
  }
  return sum;
}

void standardise(DenseExamples& examples, std::span<const std::uint32_t> train) {
  const double count = static_cast<double>(train.size()) * static_cast<double>(examples.facts.features);
  const double mean = train_sum(examples, train, [](double x) { return x; }) / count;
  const double variance = train_sum(examples, train, [mean](double x) { return (x - mean) * (x - mean); }) / count;
  const double scale = variance > 0.0 ? 1.0 / std::sqrt(variance) : 1.0;
  for (float& value : examples.features) value = static_cast<float>((static_cast<double>(value) - mean) * scale);
}

}  // namespace

Index dense_volume(const std::vector<Index>& sizes, const std::string& where) {
  Index volume = 1;
  std::string product;
  for (const Index size : sizes) product += (product.empty() ? "" : " x ") + std::to_string(size);
  for (const Index size : sizes) {
    if (size > dense_limit / volume) {
      throw ConfigError(product + " values exceed the limit of " + std::to_string(dense_limit), where);
    }
    volume *= size;
  }
  return volume;
}

std::unique_ptr<DataSource> make_dense(DenseExamples examples, const DataConfig& config) {
  const auto total = static_cast<Index>(examples.labels.size());
  examples.facts.holdout = holdout_count(total, config.holdout, "examples of " + examples.facts.name);
  examples.facts.train = total - examples.facts.holdout;
  std::vector<std::uint32_t> order = fixed_permutation(total);
  standardise(examples, std::span(order).first(static_cast<std::size_t>(examples.facts.train)));
  return std::make_unique<DenseSource>(std::move(examples), std::move(order), config.seed);
}

}  // namespace onebit::sim
