#pragma once
// What a sweep computes, regardless of how it is executed.

#include <optional>

#include "experiments/sweep/axes.hpp"
#include "experiments/sweep/options.hpp"
#include "experiments/sweep/tuner.hpp"

namespace onebit::experiments {

struct SweepDefinition {
  Settings common;  ///< run options as given, sorted by name, without repeats
  ArmTexts arms;
  std::vector<Axis> axes;
  std::vector<std::string> zips, skips;
  Index seeds = 1;
  std::optional<Tuning> tuning;
};

/// Makes a definition from the options. Throws ConfigError for malformed axes, skips or ranges.
SweepDefinition definition_of(const SweepOptions& options);

/// Returns the options of a run that cannot change results.
Settings execution_of(const RunSettings& run);

/// Throws ConfigError for a value that an INI file would not preserve, because '#' ends a value there and blanks around
/// it are trimmed.
void require_storable(const std::string& key, const std::string& value);

/// Returns the definition as an INI file that `sweep --config` reads; two definitions are equal if their texts are.
std::string text_of(const SweepDefinition& definition);

/// Says how the stored text first differs from the one asked for, e.g. "it has 'x = 2' instead of 'x = 1'".
std::string difference(const std::string& asked, const std::string& stored);

}  // namespace onebit::experiments
