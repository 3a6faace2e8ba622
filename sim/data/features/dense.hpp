#pragma once
// What sources of dense features share: limits, standardising, the splits, copying.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Most feature values that a dense source may hold: 8 GiB of float32.
inline constexpr Index dense_limit = Index{1} << 31;

/// Product of positive `sizes`, without overflow. Throws ConfigError naming `where` if it exceeds dense_limit.
Index dense_volume(const std::vector<Index>& sizes, const std::string& where);

/// Maps a value to (value - mean) * scale, computed in double.
struct Standard {
  double mean = 0.0;
  double scale = 1.0;
  float operator()(float value) const { return static_cast<float>((static_cast<double>(value) - mean) * scale); }
};

/// Feature values as a source holds them; rows are made on request. Constant except for `standardise`.
class FeatureRows {
 public:
  virtual ~FeatureRows() = default;

  /// Writes all features of an example.
  virtual void read(Index example, std::span<float> row) const = 0;

  /// If features are bytes that stand for values: the values of 0 .. 255, for each channel; else empty.
  virtual std::vector<float> values() const { return {}; }
  /// Writes the bytes of an example.
  virtual void read_bytes(Index, std::span<std::uint8_t>) const {}

  /// Standardises rows from now on. A row has one channel for each element of `channels`, all of equal size.
  virtual void standardise(std::span<const Standard> channels) = 0;
};

/// Makes rows of values [examples x features].
std::unique_ptr<FeatureRows> float_rows(std::vector<float> values, Index features);

/// Examples as they were read. facts.train and facts.holdout are not set yet; facts.name and facts.features are.
struct DenseExamples {
  DataFacts facts;
  std::unique_ptr<FeatureRows> features;
  std::vector<std::int32_t> labels;  ///< [examples], in [0, facts.classes)
  Index test = 0;                    ///< how many of the last examples are held out; 0: as config.holdout says
  bool standardise = true;           ///< if config.standardise is automatic
};

/// Splits the examples by fixed_permutation (its last config.holdout is held out, unless there is a test set), then
/// standardises feature values with ONE mean and standard deviation for each channel of an image, or for all features
/// if they are not an image: those of all such values of the training split. (Per-feature numbers would blow up pixels
/// that are nearly constant.) If all training values are equal, only the mean is subtracted. Last, the training
/// examples are split among workers.
std::unique_ptr<DataSource> make_dense(DenseExamples examples, const DataConfig& config);

}  // namespace onebit::sim
