#pragma once
// What an optimizer says of its steps, for those who read its log: by its name and the phase that it reported.

#include <optional>
#include <string_view>

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Whether what crosses the wire in a step of this phase comes from a codec. Warm-up steps and dry runs exchange dense
/// vectors, as do the optimizers that compress nothing (Codecs::none) in every phase: local-adam when its workers meet,
/// onebit-adam-32 after its freeze.
bool compresses(std::string_view optimizer, Phase phase);

/// Gradients that every worker takes of its batch in a step: the CADA rules look at a second point.
Index gradients_per_step(std::string_view optimizer);

/// The phase that a log means by a number; none: it is of no phase.
std::optional<Phase> phase_of(Index number);

}  // namespace onebit::optim
