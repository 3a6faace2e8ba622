#pragma once
// Shared parts of sources of dense features: limits, standardisation, splits, copying.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Maximum number of feature values that a dense source may hold: 8 GiB of float32.
inline constexpr Index dense_limit = Index{1} << 31;

/// Returns the product of positive `sizes`, without overflow. Throws ConfigError naming `where` if it exceeds
/// dense_limit.
Index dense_volume(const std::vector<Index>& sizes, const std::string& where);

/// Maps a value to (value - mean) * scale, computed in double.
struct Standard {
  double mean = 0.0;
  double scale = 1.0;
  float operator()(float value) const { return static_cast<float>((static_cast<double>(value) - mean) * scale); }
};

/// Feature values as a source holds them; rows are computed on request. Constant except for `standardise`.
class FeatureRows {
 public:
  virtual ~FeatureRows() = default;

  /// Writes all features of an example.
  virtual void read(Index example, std::span<float> row) const = 0;

  /// Returns the values that the bytes 0 to 255 stand for in each channel; empty if features are not bytes.
  virtual std::vector<float> values() const { return {}; }
  /// Writes the bytes of an example.
  virtual void read_bytes(Index, std::span<std::uint8_t>) const {}

  /// Standardises rows from now on. A row is divided into channels of equal size, one for each element of `channels`.
  virtual void standardise(std::span<const Standard> channels) = 0;
};

/// Makes rows of values [examples x features].
std::unique_ptr<FeatureRows> float_rows(std::vector<float> values, Index features);

/// Examples as they were read. facts.name and facts.features are set; facts.train and facts.holdout are still unset.
struct DenseExamples {
  DataFacts facts;
  std::unique_ptr<FeatureRows> features;
  std::vector<std::int32_t> labels;     ///< labels of the examples, in [0, facts.classes)
  std::vector<std::int32_t> bags = {};  ///< bags [examples x facts.context] of rows of facts.tables, if there are any
  Index test = 0;                       ///< number of examples at the end that are held out; 0: as config.holdout says
  bool standardise = true;              ///< whether to standardise if config.standardise is automatic
  bool in_order = false;                ///< whether to keep the order of the examples instead of permuting them
};

/// Makes a source. First permutes the examples by fixed_permutation, unless their order is to be kept. Unless there is
/// a test set, holds out the last examples (a share of config.holdout). Then standardises feature values with ONE mean
/// and standard deviation for each channel of an image, or for all features if they are not an image, taken over the
/// training split. (Separate statistics per feature would greatly amplify nearly constant pixels.) If all training
/// values are equal, only subtracts the mean. Last, splits the training examples among workers.
std::unique_ptr<DataSource> make_dense(DenseExamples examples, const DataConfig& config);

}  // namespace onebit::sim
