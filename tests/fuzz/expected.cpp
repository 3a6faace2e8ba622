#include "experiments/study/expected.hpp"

#include "tests/fuzz/scratch_file.hpp"

using namespace onebit;

/// The recorded results of a preset, which are compared with an empty set of runs.
ONEBIT_FUZZ(expected, input) {
  static fuzz::ScratchFile file;
  file.assign(input.rest());
  const std::vector<experiments::ExpectedRun> runs = experiments::read_expected(file.path());
  const auto arms = experiments::agreements(runs, {});
  fuzz::require(arms.size() <= runs.size());
}
