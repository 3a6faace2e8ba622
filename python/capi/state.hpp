#pragma once
// A rank's part of the state, item by item, to and from the caller.

#include <functional>

#include "device/comm/state.hpp"
#include "python/capi/onebit_codecs.h"

namespace onebit::capi {

using Visit = std::function<void(device::StateVisitor&)>;

/// Hands the caller every item that `visit` visits. Throws Error if the caller fails.
void save(const device::Shard& shard, const Visit& visit, onebit_take take, void* context);

/// Takes every item from the caller. Throws ConfigError, naming the item, if an item is missing or has the wrong
/// length.
void load(const device::Shard& shard, const Visit& visit, onebit_give give, void* context);

}  // namespace onebit::capi
