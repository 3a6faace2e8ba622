#pragma once
// What became of a DeepSpeed configuration, as text and as JSON.

#include "experiments/cli/command_line.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// A row per option and per ignored key; an option that something else decides is marked. Nothing where the command got
/// no such configuration.
void print_deepspeed(const CommandLine& line, std::ostream& out);

/// A command's object, with the member deepspeed_config where it got one.
Json with_deepspeed(const Json& object, const CommandLine& line);

}  // namespace onebit::experiments
