#pragma once
// `price --calibrate`: fits a cluster to measured all-reduces.

#include <string>

#include "experiments/options/price_options.hpp"

namespace onebit::experiments {

/// Fits the only cluster of the configuration to the measurements in config.calibrate, prints the fits, and writes the
/// best one to the file `out` unless that is empty. Returns the exit status. Throws ConfigError.
int calibrate(const PriceConfig& config, const std::string& out, bool json);

}  // namespace onebit::experiments
