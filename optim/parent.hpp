#pragma once
// The optimizers that an optimizer is compared with.

#include <string>
#include <string_view>

#include "optim/config.hpp"

namespace onebit::optim {

/// Name of the dense optimizer that an optimizer approximates and is compared with: LAMB for 1-bit LAMB, for example.
/// Empty for dense optimizers and for unknown names.
std::string_view parent_of(std::string_view optimizer);

/// Name of the twin of an optimizer, which freezes its variance in the same way and then exchanges the same vectors
/// uncompressed: onebit-adam-32 for 1-bit Adam, zeroone-adam-32 for 0/1 Adam. The twin has the freeze and, for 0/1
/// Adam, the rare updates of the variance, but neither compression nor local steps. Empty if the optimizer has no twin.
std::string_view uncompressed_twin_of(std::string_view optimizer);

/// Whether a run that freezes its variance is bitwise equal, up to the freeze, to a run that never freezes it, and so
/// can branch off from that run. This holds for optimizers with a freeze policy, but not for 0/1 Adam, which updates
/// its variance rarely and compresses from the start.
bool is_dense_until_freeze(std::string_view optimizer);

/// Configuration of the dense run with which runs that freeze are compared. It uses the same optimizer without a freeze
/// or, if is_dense_until_freeze() does not hold, the optimizer's parent.
OptimizerConfig never_frozen(OptimizerConfig config);

/// Returns the configuration, changed to freeze the variance after `steps` steps.
OptimizerConfig frozen_after(OptimizerConfig config, Index steps);

/// The option that frozen_after sets, as a user writes it: "--freeze fixed:154".
std::string freeze_option(std::string_view optimizer, Index steps);

}  // namespace onebit::optim
