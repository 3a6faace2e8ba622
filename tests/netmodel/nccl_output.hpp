#pragma once
// Parts of the output of nccl-tests, for tests of what reads it.

#include <string>
#include <vector>

#include "netmodel/measured/measurements.hpp"
#include "tests/catch.hpp"
#include "tests/folder.hpp"
#include "tests/netmodel/models.hpp"

namespace onebit::tests {

/// The list of ranks, in the new form or that of before version 2.13.
inline std::string ranks(Index nodes, Index gpus, bool old = false) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5\n#\n# Using devices\n";
  for (Index rank = 0; rank < nodes * gpus; ++rank) {
    text += "#  Rank " + std::to_string(rank) + (old ? "" : " Group  0") + " Pid 11 on  node" +
            std::to_string(rank / gpus) + " device " + std::to_string(rank % gpus) + " [0x07] NVIDIA A100\n";
  }
  return text + "#\n#                       out-of-place                       in-place\n";
}

inline const std::string kNewHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n";

/// Reads the measurements in a file nccl.txt with this text.
inline std::vector<Measurement> read(const std::string& text) {
  const Folder folder;
  write_file(folder / "nccl.txt", text);
  return read_measurements(folder / "nccl.txt");
}

inline void check_row(const Measurement& row, Collective collective, double bytes, double seconds) {
  CHECK(name(row.collective) == name(collective));
  CHECK(row.bytes.value == Approx(bytes));
  CHECK(row.seconds.value == Approx(seconds));
}

}  // namespace onebit::tests
