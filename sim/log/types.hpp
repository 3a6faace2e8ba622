#pragma once
// HDF5 types of the columns. Internal to sim/log.

#include "sim/log/h5.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim::h5 {

/// Type of a column, in the file and in memory; enumerations carry the names of netmodel/wire/traffic.hpp.
/// Precondition: not ColumnType::compound.
Id column_type(ColumnType type);

/// Type of a TrafficRow in memory. In the file, it is packed.
Id traffic_type();
Id packed(const Id& compound);

/// Type {name, offset, size, rows} of /model/tensors, without gaps: name_bytes, then three 64-bit integers.
Id tensor_type(std::size_t name_bytes);

}  // namespace onebit::sim::h5
