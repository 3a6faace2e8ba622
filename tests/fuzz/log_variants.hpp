#pragma once
// Logs that the harness of the log reader starts from.

#include <vector>

#include "tests/fuzz/scratch_file.hpp"

namespace onebit::fuzz {

/// A log, by its differences from the first.
struct LogVariant {
  std::size_t size = 0;
  std::vector<std::pair<std::size_t, Bytes>> differences;
  /// The blocks in which anything is written: most of a small log is room for more rows.
  std::vector<std::size_t> blocks;

  void apply(Changes& changes) const;
  /// Of one of the written blocks, for any number.
  std::size_t place(std::size_t number) const;
};

/// A finished log, one whose writer was killed, a compressed one; then a small one, `first`, and variants of it with
/// one thing in it gone, or of another type, shape or value: every dataset, group and attribute that is more than a
/// description.
struct Logs {
  Bytes first;
  std::vector<LogVariant> variants;
};

Logs make_logs();

}  // namespace onebit::fuzz
