#pragma once
// The options of a worker, by the program's names.

#include <span>

#include "optim/config.hpp"
#include "python/capi/onebit_codecs.h"

namespace onebit::capi {

/// Return the defaults overridden by the options of an exchange, or of an optimizer and its exchange. Throw ConfigError
/// for unknown names (the message suggests the nearest one), for malformed values, and for parameters that the codecs
/// do not read.
compress::ExchangeConfig exchange_of(std::span<const onebit_option> options);
optim::OptimizerConfig optimizer_of(std::span<const onebit_option> options);

}  // namespace onebit::capi
