#pragma once

#include "device/comm/communicator.hpp"
#include "device/memory/buffer.hpp"

namespace onebit::sim {

/// Returns the mean of all workers' rows. rows: those of this device's workers, [workers][columns]. Collective.
device::Buffer<float> mean_of_rows(const device::Shard& shard, const device::Buffer<float>& rows, Index columns);

}  // namespace onebit::sim
