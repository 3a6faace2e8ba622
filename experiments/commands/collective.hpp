#pragma once
// `price --collective`: prices single collectives, in the columns of nccl-tests.

#include "experiments/options/price_options.hpp"

namespace onebit::experiments {

/// Prices the collective config.collective, for each size in config.sizes, among `workers` GPUs (0: as many as the
/// cluster has) on every cluster, and prints tables, or JSON. Returns the exit status. Throws ConfigError.
int price_collective(const PriceConfig& config, Index workers, bool json);

}  // namespace onebit::experiments
