#pragma once
// The request of a sweep, apart from how it is executed.

#include <optional>

#include "experiments/cli/command_line.hpp"
#include "experiments/sweep/axes.hpp"
#include "experiments/sweep/tuner.hpp"

namespace onebit::experiments {

struct SweepDefinition {
  Settings common;  ///< run options as given, sorted by name, without repeats
  std::vector<std::string> optimizers, arms;
  std::vector<Axis> axes;
  std::vector<std::string> zips, skips;
  Index seeds = 1;
  std::optional<Tuning> tuning;
};

/// Makes a definition from the command line. Throws ConfigError for malformed axes, skips or ranges.
SweepDefinition definition_of(const CommandLine& line);

/// Returns the options of the command line that cannot change results.
Settings execution_of(const CommandLine& line);

/// Throws ConfigError for a value that an INI file would not preserve: it ends a value at '#' and trims blanks.
void require_storable(const std::string& key, const std::string& value);

/// Returns the definition as an INI file that `sweep --config` reads; two definitions are equal if their texts are.
std::string text_of(const SweepDefinition& definition);

/// Returns the first line in which two texts differ, from both: "x = 1 instead of x = 2".
std::string difference(const std::string& asked, const std::string& stored);

}  // namespace onebit::experiments
