#pragma once
// Measured collectives, read from a table or from the output of nccl-tests.

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
  std::string where{};  ///< "FILE:LINE" that the measurement was read from; empty: none
};

/// Reads a CSV file or the output of nccl-tests (nccl_tests.hpp), even if a launcher logged it (log_line.hpp). The CSV
/// header has the columns nodes, gpus (per node), bytes and seconds in any order, and may have a column collective
/// (all_reduce, all_to_all, ...); without it, all rows are all-reduces. Other columns are ignored. Throws ConfigError
/// with file, line and reason for anything else, and for more than 10,000 rows.
std::vector<Measurement> read_measurements(const std::string& path);

/// Reads several files, each as above. All measurements are kept, in order, including several of one configuration. The
/// limit holds for all files together.
std::vector<Measurement> read_measurements(const std::vector<std::string>& paths);

}  // namespace onebit::netmodel
