#pragma once
// How a DeepSpeed configuration was used, as text and as JSON.

#include "experiments/options/run_settings.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Prints one row per option and per ignored key; an option that is overridden elsewhere is marked. Prints nothing
/// where the command got no such configuration.
void print_deepspeed(const RunSettings& run, std::ostream& out);

/// Returns a command's object, with the member deepspeed_config where the command got such a configuration.
Json with_deepspeed(const Json& object, const RunSettings& run);

}  // namespace onebit::experiments
