#pragma once
// Measured collectives, as rows of a table or as nccl-tests prints them.

#include <string>
#include <vector>

#include "device/base/types.hpp"
#include "netmodel/wire/traffic.hpp"

namespace onebit::netmodel {

struct Measurement {
  Index nodes = 1, gpus_per_node = 1;
  Bytes bytes;  ///< payload of a worker, as in Traffic
  Seconds seconds;
  Collective collective = Collective::all_reduce;
};

/// Reads a CSV file with a header that has the columns nodes, gpus (of a node), bytes and seconds in any order, and may
/// have a column collective (all_reduce, all_to_all, ...; without it all rows are all-reduces), or what nccl-tests
/// print (nccl_tests.hpp). Throws ConfigError with file, line and reason for anything else.
std::vector<Measurement> read_measurements(const std::string& path);

}  // namespace onebit::netmodel
