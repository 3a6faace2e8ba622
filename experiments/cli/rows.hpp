#pragma once
// Rows that several commands have in common. Their structs of options name the members alike.

#include "analysis/compare/verdict.hpp"
#include "experiments/options/option_fields.hpp"

namespace onebit::experiments {

template <class Options>
Option<Options> json_row() {
  return flag<Options>("json", "print one JSON object instead of tables", ONEBIT_PLACE(json));
}

template <class Options>
Option<Options> dry_run_row() {
  return flag<Options>("dry-run", "check and show everything, run nothing", ONEBIT_PLACE(dry_run));
}

template <class Options>
Option<Options> progress_row() {
  return flag<Options>("progress", "show progress although stderr is no terminal", ONEBIT_PLACE(progress));
}

template <class Options>
Option<Options> seeds_row() {
  return between<Options>("seeds", "paired seeds per arm: seed, seed+1, ...", 1, 10000, ONEBIT_PLACE(seeds));
}

template <class Options, class Place>
Option<Options> overwrite_row(Place place) {
  return flag<Options>("overwrite", "replace existing output", place);
}

template <class Options>
Option<Options> resume_row() {
  return flag<Options>("resume", "continue an existing log from its last checkpoint; a finished one is left unchanged",
                       ONEBIT_PLACE(output.resume));
}

template <class Options>
Option<Options> resume_allow_row() {
  return list<Options>(
      "resume.allow",
      "comma-separated options that may differ from the log's; bits: recomputed rows may, by another build or CPU",
      "options", ONEBIT_PLACE(output.resume_allow));
}

/// The rows of arms: their texts on the command line replace those of files.
template <class Options>
std::vector<Option<Options>> arms_rows() {
  Option<Options> optimizers =
      list<Options>("optimizers", "arms by optimizer: adam,onebit-adam", "optimizers", ONEBIT_PLACE(arms.optimizers));
  optimizers.replaces = "arms";
  optimizers.set = [set = optimizers.set](Options& options, const std::string& text) {
    if (text.empty()) throw ConfigError("no optimizer named", "optimizers", "e.g. --optimizers adam,onebit-adam");
    set(options, text);
  };
  return {optimizers, repeated<Options>("arm", "an arm 'name:key=value,key=value'", ONEBIT_PLACE(arms.arms), "arms")};
}

/// A margin, of which the help says what it is.
template <class Options, class Place>
Option<Options> margin_row(const std::string& help, Place place) {
  Option<Options> row = field<Options>("margin", help + " [" + shortest(analysis::default_margin) + "]", place);
  row.set = [set = row.set, place](Options& options, const std::string& text) {
    set(options, text);
    const std::optional<double>& margin = place(options);
    if (!(*margin > 0 && *margin < 1))
      throw ConfigError("option out of range", "margin " + text, "above 0 and below 1, as 0.01 for 1%");
  };
  return row;
}

}  // namespace onebit::experiments
