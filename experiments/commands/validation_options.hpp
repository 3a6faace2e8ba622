#pragma once
// Options of `analyze --validate` and `freeze` that say where to freeze and how a freeze is judged.

#include <optional>
#include <string>

#include "experiments/cli/rows.hpp"
#include "experiments/study/validation.hpp"

namespace onebit::experiments {

struct ValidationOptions {
  std::string thresholds, freeze_at;  ///< lists; both empty: the default thresholds
  std::string measure;                ///< loss, accuracy or steps; empty: loss
  std::string reference;              ///< known, best or a number; empty: known
  std::optional<double> margin;       ///< no value: analysis::default_margin
};

/// Returns the rows that say how a freeze is judged, for a struct with a member `judging`. margin: the meaning of
/// --margin.
template <class Options>
std::vector<Option<Options>> judging_rows(const std::string& margin = "largest relative cost that counts as safe") {
  return {margin_row<Options>(margin, ONEBIT_PLACE(judging.margin)),
          field<Options>("measure", "unit of costs: loss, accuracy, or steps to --target; not given: loss",
                         ONEBIT_PLACE(judging.measure)),
          field<Options>("reference",
                         "loss above which costs are measured: known (the model's minimum, 0 if unknown), best "
                         "(lowest final loss of any run) or a number; not given: known",
                         ONEBIT_PLACE(judging.reference))};
}

/// Returns the row of arms that differ only after the freeze, for a struct with a member `arms`.
template <class Options>
Option<Options> arm_after_freeze_row() {
  return repeated<Options>("arm", "arm with options that change at the freeze, 'name:key=value,key=value'",
                           ONEBIT_PLACE(arms.arms), "arms");
}

/// Parses a threshold. Throws ConfigError unless it is in (0, 1].
double threshold_of(const std::string& text);

/// Makes a request from the options. target: the loss to reach, NaN if none is given. Throws ConfigError.
ValidationRequest request_of(const ValidationOptions& options, double target);

}  // namespace onebit::experiments
