#include "experiments/options/deepspeed_config.hpp"
#include "tests/fuzz/scratch_file.hpp"

using namespace onebit;

/// A DeepSpeed configuration: JSON.
ONEBIT_FUZZ(deepspeed, input) {
  static fuzz::ScratchFile file;
  file.assign(input.rest());
  const auto config = experiments::read_deepspeed_config(file.path());
  fuzz::require(config.settings().size() == config.mapped.size());
}
