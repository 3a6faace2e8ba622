#pragma once
// No data, for models that are functions of their weights alone.

#include <memory>

#include "sim/data/data.hpp"

namespace onebit::sim {

/// Examples without features, tokens or labels: one to train on, one held out. Throws ConfigError if paths are given.
std::unique_ptr<DataSource> make_none(const DataConfig& config);

}  // namespace onebit::sim
