#pragma once
// The ranks of a caller as a shard of one worker per rank.

#include "device/comm/communicator.hpp"
#include "python/capi/onebit_codecs.h"

namespace onebit::capi {

/// Returns the shard of this rank. Throws ConfigError for an impossible rank or number of ranks, and for several ranks
/// without an exchange function.
device::Shard shard_of(const onebit_ranks& ranks, int threads);

}  // namespace onebit::capi
