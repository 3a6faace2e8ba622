#pragma once
// How a DeepSpeed configuration was used, as text and as JSON.

#include "experiments/options/run_settings.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Prints one row per option and per ignored key, and marks options that are overridden elsewhere. Prints nothing if
/// the command was given no DeepSpeed configuration.
void print_deepspeed(const RunSettings& run, std::ostream& out);

/// Returns a command's object, with the member deepspeed_config if the command was given such a configuration.
Json with_deepspeed(const Json& object, const RunSettings& run);

}  // namespace onebit::experiments
