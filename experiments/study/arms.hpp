#pragma once
// The arms of a comparison: named variations of one configuration.

#include <string>
#include <vector>

#include "experiments/cli/command_line.hpp"

namespace onebit::experiments {

struct Arm {
  std::string name;
  Settings settings;  ///< the common ones, then the arm's own
};

/// Settings of 'key=value,key=value'. A part without '=' belongs to the value before it: layers have commas. Throws
/// ConfigError: "malformed <what>", where, and the form that is wanted.
Settings parse_settings(const std::string& text, const std::string& what, const std::string& where,
                        const std::string& form);

/// Arms from --optimizers and --arm; without either, the common options' optimizer, or adam
/// and onebit-adam. Throws ConfigError: malformed or duplicate.
std::vector<Arm> arms_of(const CommandLine& line);

}  // namespace onebit::experiments
