#include "sim/data/gunzip.hpp"
#include "tests/fuzz/fuzz.hpp"

ONEBIT_FUZZ(input) {
  constexpr onebit::Index limit = 1 << 16;
  onebit::fuzz::require(onebit::sim::gunzip(input.file(), limit).size() <= limit);
}
