#pragma once
// No data, for models that depend only on their weights.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Makes a source of two examples without features, tokens or labels, one to train on and one held out. Throws
/// ConfigError if paths are given.
std::unique_ptr<DataSource> make_none(const DataConfig& config);

}  // namespace onebit::sim
