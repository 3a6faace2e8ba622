#pragma once
// The options of a worker, by the program's names.

#include <span>

#include "optim/config.hpp"
#include "python/capi/onebit_codecs.h"

namespace onebit::capi {

/// Returns the defaults overridden by the options. Throws ConfigError for unknown names, with the nearest, and for
/// malformed values.
optim::OptimizerConfig config_of(std::span<const onebit_option> options);

}  // namespace onebit::capi
