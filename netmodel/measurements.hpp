#pragma once
// Measured all-reduces, as rows of a table or as nccl-tests prints them.

#include <string>
#include <vector>

#include "device/types.hpp"
#include "netmodel/units.hpp"

namespace onebit::netmodel {

struct Measurement {
  Index nodes = 1, gpus_per_node = 1;
  Bytes bytes;      ///< of the vector
  Seconds seconds;  ///< of the all-reduce
};

/// Reads a CSV file with a header that has the columns nodes, gpus (of a node), bytes and seconds in any order, or what
/// all_reduce_perf of nccl-tests prints (out-of-place times; nodes and GPUs from its list of ranks). Throws ConfigError
/// with file, line and reason for anything else.
std::vector<Measurement> read_measurements(const std::string& path);

}  // namespace onebit::netmodel
