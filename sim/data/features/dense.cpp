#include "sim/data/features/dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>

#include "device/base/error.hpp"
#include "sim/data/split.hpp"

namespace onebit::sim {
namespace {

class DenseSource final : public DataSource {
 public:
  DenseSource(DenseExamples examples, std::vector<std::uint32_t> order, WorkerSplit split, std::uint32_t seed)
      : DataSource(std::move(examples.facts), seed, std::move(split)),
        features_(std::move(examples.features)),
        labels_(std::move(examples.labels)),
        bags_(std::move(examples.bags)),
        order_(std::move(order)) {}

  const FeatureRows* rows() const override { return features_.get(); }

 private:
  void copy(Split split, Index example, Index row, Batch& out) const override {
    const Index place = example + (split == Split::holdout ? train_size() : 0);
    const Index source = order_[static_cast<std::size_t>(place)];
    if (out.with_features) {
      const auto width = static_cast<std::size_t>(feature_count());
      features_->read(source, std::span(out.features).subspan(static_cast<std::size_t>(row) * width, width));
    } else {
      out.examples[static_cast<std::size_t>(row)] = static_cast<std::uint32_t>(source);
    }
    out.labels[static_cast<std::size_t>(row)] = labels_[static_cast<std::size_t>(source)];
    const Index slots = context();
    std::copy_n(bags_.begin() + source * slots, slots, out.tokens.begin() + row * slots);
  }

  std::unique_ptr<FeatureRows> features_;
  std::vector<std::int32_t> labels_, bags_;
  std::vector<std::uint32_t> order_;  // the training split, then the held-out split
};

class FloatRows final : public FeatureRows {
 public:
  FloatRows(std::vector<float> values, Index features)
      : values_(std::move(values)), features_(static_cast<std::size_t>(features)) {}

  void read(Index example, std::span<float> row) const override {
    const auto first = std::span(values_).subspan(static_cast<std::size_t>(example) * features_, features_);
    std::copy(first.begin(), first.end(), row.begin());
  }

  void standardise(std::span<const Standard> channels) override {
    const std::size_t part = features_ / channels.size();
    for (std::size_t first = 0; first < values_.size(); first += part) {
      const Standard& standard = channels[first / part % channels.size()];
      for (float& value : std::span(values_).subspan(first, part)) value = standard(value);
    }
  }

 private:
  std::vector<float> values_;
  std::size_t features_;
};

/// Sums f(channel, value) for each channel over the training split, in the split's order, so that the bits are the same
/// on every machine.
template <typename Function>
std::vector<double> train_sums(const DenseExamples& examples, std::span<const std::uint32_t> train,
                               std::size_t channels, Function f) {
  std::vector<double> sums(channels);
  std::vector<float> row(static_cast<std::size_t>(examples.facts.features));
  const std::size_t part = row.size() / channels;
  for (const std::uint32_t example : train) {
    examples.features->read(example, row);
    for (std::size_t c = 0; c < channels; ++c) {
      for (const float value : std::span(row).subspan(c * part, part)) sums[c] += f(c, static_cast<double>(value));
    }
  }
  return sums;
}

void standardise(DenseExamples& examples, std::span<const std::uint32_t> train) {
  const auto channels = static_cast<std::size_t>(std::max<Index>(1, examples.facts.image.channels));
  const double count =
      static_cast<double>(train.size()) * static_cast<double>(examples.facts.features) / static_cast<double>(channels);
  std::vector<Standard> standards(channels);
  const std::vector<double> sums = train_sums(examples, train, channels, [](std::size_t, double x) { return x; });
  for (std::size_t c = 0; c < channels; ++c) standards[c].mean = sums[c] / count;
  const std::vector<double> squares = train_sums(examples, train, channels, [&](std::size_t c, double x) {
    return (x - standards[c].mean) * (x - standards[c].mean);
  });
  for (std::size_t c = 0; c < channels; ++c) {
    const double variance = squares[c] / count;
    standards[c].scale = variance > 0.0 ? 1.0 / std::sqrt(variance) : 1.0;
  }
  examples.features->standardise(standards);
}

/// Returns the order of `total` examples.
std::vector<std::uint32_t> order_of(const DenseExamples& examples, Index total) {
  if (!examples.in_order) return fixed_permutation(total);
  std::vector<std::uint32_t> order(static_cast<std::size_t>(total));
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

/// Returns the training split followed by the held-out split, and sets their sizes.
std::vector<std::uint32_t> divide(DenseExamples& examples, double share) {
  DataFacts& facts = examples.facts;
  const auto total = static_cast<Index>(examples.labels.size());
  facts.holdout = examples.test > 0 ? examples.test : holdout_count(total, share, "examples of " + facts.name);
  facts.train = total - facts.holdout;
  if (examples.test == 0) return order_of(examples, total);
  std::vector<std::uint32_t> order = order_of(examples, facts.train);
  const auto first = static_cast<std::uint32_t>(facts.train);
  for (const std::uint32_t place : order_of(examples, facts.holdout)) order.push_back(first + place);
  return order;
}

}  // namespace

Index dense_volume(const std::vector<Index>& sizes, const std::string& where) {
  Index volume = 1;
  std::string product;
  for (const Index size : sizes) product += (product.empty() ? "" : " x ") + std::to_string(size);
  for (const Index size : sizes) {
    if (size > dense_limit / volume) {
      throw ConfigError(product + " values exceed the limit of " + std::to_string(dense_limit), where,
                        "use fewer examples, or fewer values in each");
    }
    volume *= size;
  }
  return volume;
}

std::unique_ptr<FeatureRows> float_rows(std::vector<float> values, Index features) {
  return std::make_unique<FloatRows>(std::move(values), features);
}

std::unique_ptr<DataSource> make_dense(DenseExamples examples, const DataConfig& config) {
  std::vector<std::uint32_t> order = divide(examples, config.holdout);
  const auto train = std::span(order).first(static_cast<std::size_t>(examples.facts.train));
  const bool automatic = config.standardise == Switch::automatic;
  if (automatic ? examples.standardise : config.standardise == Switch::yes) standardise(examples, train);
  WorkerSplit split;
  if (config.split != "iid") {
    std::vector<std::int32_t> labels;
    for (const std::uint32_t example : train) labels.push_back(examples.labels[example]);
    split = split_among(config.split, config.workers, examples.facts.train, labels);
    examples.facts.provenance.push_back("split " + config.split + ": " + split.describe());
  }
  return std::make_unique<DenseSource>(std::move(examples), std::move(order), std::move(split), config.seed);
}

}  // namespace onebit::sim
