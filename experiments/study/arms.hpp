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

/// Parses 'key=value,key=value'. A part without '=' belongs to the preceding value, because lists of layers contain
/// commas. Throws ConfigError: "malformed <what>", where, and the expected form.
Settings parse_settings(const std::string& text, const std::string& what, const std::string& where,
                        const std::string& form);

/// Returns the arms of --optimizers and --arm; without either, the common options' optimizer, or else adam and
/// onebit-adam. Throws ConfigError for malformed or duplicate arms.
std::vector<Arm> arms_of(const CommandLine& line);

}  // namespace onebit::experiments
