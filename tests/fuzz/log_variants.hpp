#pragma once
// Logs from which the harness of the log reader starts.

#include <vector>

#include "tests/fuzz/scratch_file.hpp"

namespace onebit::fuzz {

/// A log, given by its differences from the first one.
struct LogVariant {
  std::size_t size = 0;
  std::vector<std::pair<std::size_t, Bytes>> differences;
  /// Blocks that are not empty. Most of a small log is empty space for more rows.
  std::vector<std::size_t> blocks;

  void apply(Changes& changes) const;
  /// Returns a place in one of these blocks, for any number.
  std::size_t place(std::size_t number) const;
};

/// A finished log, one whose writer was killed, and a compressed one; then a small log, `first`, and variants of it in
/// each of which one thing is missing or has another type, shape or value. This covers every dataset, every group, and
/// every attribute that is not just a description.
struct Logs {
  Bytes first;
  std::vector<LogVariant> variants;
};

Logs make_logs();

}  // namespace onebit::fuzz
