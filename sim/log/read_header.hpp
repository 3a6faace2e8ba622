#pragma once
// Reads the header of a log, which describes its run. Internal to sim/log.

#include "sim/log/h5.hpp"
#include "sim/log/schema.hpp"

namespace onebit::sim {

/// Reads the header of an open log. Throws IoError if a part of it is missing or damaged.
LogHeader read_header(const h5::Object& file);

}  // namespace onebit::sim
