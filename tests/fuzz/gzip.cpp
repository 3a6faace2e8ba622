#include <algorithm>

#include "sim/data/files/gunzip.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace onebit;

/// The contents of a valid file begin with its head; if the head is damaged, so is the file.
ONEBIT_FUZZ(gzip, input) {
  constexpr Index limit = 1 << 16;
  const sim::Bytes file = input.file();
  std::vector<std::uint8_t> head;
  bool damaged = false;
  try {
    head = sim::gunzip_head(file);
  } catch (const ConfigError&) {
    damaged = true;
  }
  const std::vector<std::uint8_t> bytes = sim::gunzip(file, limit, limit);
  fuzz::require(!damaged && bytes.size() <= limit && head.size() <= bytes.size());
  fuzz::require(std::equal(head.begin(), head.end(), bytes.begin()));
}
