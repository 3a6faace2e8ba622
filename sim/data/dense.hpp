#pragma once
// What sources of dense features share: limits, standardising, the split, copying.

#include <memory>
#include <string>
#include <vector>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Most feature values that a dense source may hold: 8 GiB of float32.
inline constexpr Index dense_limit = Index{1} << 31;

/// Product of positive `sizes`, without overflow. Throws ConfigError naming `where` if it exceeds dense_limit.
Index dense_volume(const std::vector<Index>& sizes, const std::string& where);

/// Examples as they were read. facts.train and facts.holdout are not set yet; facts.name and facts.features are.
struct DenseExamples {
  DataFacts facts;
  std::vector<float> features;       ///< [examples x facts.features], at most dense_limit values
  std::vector<std::int32_t> labels;  ///< [examples], in [0, facts.classes)
};

/// Splits by fixed_permutation (the last config.holdout of it is held out), then standardises every feature value with
/// ONE mean and standard deviation: those of all values of the training split. (Per-feature numbers would blow up
/// pixels that are nearly constant.) Where all training values are equal, only the mean is subtracted.
std::unique_ptr<DataSource> make_dense(DenseExamples examples, const DataConfig& config);

}  // namespace onebit::sim
