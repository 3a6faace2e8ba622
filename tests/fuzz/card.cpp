#include "experiments/study/card.hpp"
#include "tests/fuzz/scratch_file.hpp"

using namespace onebit;

/// A card: JSON with the results and options of runs.
ONEBIT_FUZZ(card, input) {
  static fuzz::ScratchFile file;
  file.assign(input.rest());
  const experiments::Card card = experiments::read_card(file.path());
  fuzz::require(!card.runs.empty());
}
