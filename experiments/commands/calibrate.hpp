#pragma once
// `price --calibrate`: fits a cluster to measured all-reduces.

#include <string>

#include "experiments/options/price_options.hpp"

namespace onebit::experiments {

/// Fits the one cluster of the configuration to config.calibrate, prints the fits and writes the best one to `out`, if
/// that is a path. Returns the exit status. Throws ConfigError.
int calibrate(const PriceConfig& config, const std::string& out, bool json);

}  // namespace onebit::experiments
