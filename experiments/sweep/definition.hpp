#pragma once
// What a sweep asks for, apart from how it is carried out.

#include <optional>

#include "experiments/cli/command_line.hpp"
#include "experiments/sweep/axes.hpp"
#include "experiments/sweep/tuner.hpp"

namespace onebit::experiments {

struct SweepDefinition {
  Settings common;  ///< options of a run as they were given, each once, by name
  std::vector<std::string> optimizers, arms;
  std::vector<Axis> axes;
  std::vector<std::string> zips, skips;
  Index seeds = 1;
  std::optional<Tuning> tuning;
};

/// Throws ConfigError: malformed axes, skips, ranges.
SweepDefinition definition_of(const CommandLine& line);

/// Options of the command line that cannot change results.
Settings execution_of(const CommandLine& line);

/// Throws ConfigError for a value that an INI file does not give back: it ends a value at '#' and takes blanks off its
/// ends.
void require_storable(const std::string& key, const std::string& value);

/// The definition as an INI file that `sweep --config` takes; two definitions are the same where their texts are.
std::string text_of(const SweepDefinition& definition);

/// The first line in which two texts differ, of both: "x = 1 instead of x = 2".
std::string difference(const std::string& asked, const std::string& stored);

}  // namespace onebit::experiments
