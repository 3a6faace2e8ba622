#pragma once
// The arms of a comparison: named variations of one configuration.

#include <string>
#include <vector>

#include "experiments/options/idle_options.hpp"
#include "experiments/study/study.hpp"

namespace onebit::experiments {

struct Arm {
  std::string name;
  Settings settings;  ///< common settings, followed by the arm's own
};

/// Parses 'key=value,key=value'; short names of options become long ones. A part without '=' belongs to the preceding
/// value, because lists of layers contain commas. Throws ConfigError with a message that consists of "malformed
/// <what>", `where` and the expected form.
Settings parse_settings(const std::string& text, const std::string& what, const std::string& where,
                        const std::string& form);

/// Returns one arm per listed optimizer and one per --arm value. Without either, returns one arm for the optimizer that
/// the common options name, or else the arms adam and onebit-adam. Throws ConfigError for malformed or duplicate arms.
std::vector<Arm> arms_of(const RunSettings& common, const ArmTexts& texts);

/// Returns one run per arm, with the names of the options that the arm sets itself.
std::vector<GivenRun> given_runs(const RunSettings& common, const std::vector<Arm>& arms);

}  // namespace onebit::experiments
