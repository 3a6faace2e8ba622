#pragma once
// Facts about the steps in a log, from the optimizer's name and the phase that it reported.

#include <optional>
#include <string_view>

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Whether the vectors exchanged in a step of this phase are compressed. Warm-up steps and dry runs exchange dense
/// vectors; optimizers that compress nothing (Codecs::none) exchange dense vectors in every phase, for example
/// local-adam when its workers synchronise and onebit-adam-32 after its freeze.
bool compresses(std::string_view optimizer, Phase phase);

/// Whether the uncompressed vectors that are exchanged in a step of this phase are gradients, or are priced as such.
/// After its freeze, an optimizer with a freeze policy exchanges momenta; workers that made local steps exchange
/// weights, moments or drifts.
bool exchanges_gradients(std::string_view optimizer, Phase phase);

/// Number of gradients that every worker computes on its batch in a step: 2 for CADA, whose rules need a second point.
Index gradients_per_step(std::string_view optimizer);

/// The phase with a given number in a log; empty if no phase has this number.
std::optional<Phase> phase_of(Index number);

}  // namespace onebit::optim
