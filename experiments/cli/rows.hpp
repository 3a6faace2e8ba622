#pragma once
// Option rows that several commands share. The commands' structs of options use the same member names.

#include "analysis/compare/verdict.hpp"
#include "experiments/options/option_fields.hpp"
#include "optim/optimizer.hpp"

namespace onebit::experiments {

/// Returns the row of the option -o, the name of the output. made_up: the name that is used without -o, to be shown in
/// the help.
template <class Options>
Option<Options> out_row(const std::string& help, const std::string& made_up = {}) {
  Option<Options> row = also("o", field<Options>("out", help, ONEBIT_PLACE(out)));
  row.get = [made_up](const Options&) { return made_up; };
  row.set = [set = row.set](Options& options, const std::string& text) {
    if (text.empty() || text == "-")
      throw ConfigError("not a name for an output", "-o '" + text + "'",
                        "name a file or a folder; write ./- for one that is called '-'");
    set(options, text);
  };
  return row;
}

template <class Options>
Option<Options> json_row() {
  return flag<Options>("json", "print one JSON object instead of tables", ONEBIT_PLACE(json));
}

template <class Options>
Option<Options> dry_run_row() {
  return flag<Options>("dry-run", "check the options and show the plan, but train nothing", ONEBIT_PLACE(dry_run));
}

template <class Options>
Option<Options> progress_row() {
  return flag<Options>("progress", "show progress even if stderr is not a terminal", ONEBIT_PLACE(progress));
}

template <class Options>
Option<Options> seeds_row(const std::string& help = "number of paired seeds per arm: seed, seed+1, ...") {
  return between<Options>("seeds", help, 1, 10000, ONEBIT_PLACE(seeds));
}

template <class Options, class Place>
Option<Options> overwrite_row(Place place) {
  return flag<Options>("overwrite", "replace existing output", place);
}

template <class Options>
Option<Options> resume_row() {
  return flag<Options>("resume", "continue existing logs from their last checkpoints; leave finished logs unchanged",
                       ONEBIT_PLACE(output.resume));
}

template <class Options>
Option<Options> resume_allow_row() {
  Option<Options> row = list<Options>(
      "resume.allow",
      "comma-separated options that may differ from the log's; add the word 'bits' to also accept recomputed rows that "
      "differ (different build or CPU)",
      "options", ONEBIT_PLACE(output.resume_allow));
  row.set = [set = row.set](Options& options, const std::string& text) {
    set(options, text);
    for (std::string& name : options.output.resume_allow) name = long_name(name);
  };
  return row;
}

/// Returns the rows that define arms. Arms on the command line replace those from files.
template <class Options>
std::vector<Option<Options>> arms_rows() {
  Option<Options> optimizers = list<Options>("optimizers", "one arm per optimizer, e.g. adam,onebit-adam", "optimizers",
                                             ONEBIT_PLACE(arms.optimizers));
  optimizers.replaces = "arms";
  optimizers.words = [] { return names_of(optim::optimizers()); };
  optimizers.set = [set = optimizers.set](Options& options, const std::string& text) {
    if (text.empty()) throw ConfigError("no optimizer named", "optimizers", "e.g. --optimizers adam,onebit-adam");
    set(options, text);
  };
  return {optimizers, repeated<Options>("arm", "one arm, 'name:key=value,key=value'", ONEBIT_PLACE(arms.arms), "arms")};
}

/// Returns the row of --margin. help: the meaning of the margin.
template <class Options, class Place>
Option<Options> margin_row(const std::string& help, Place place) {
  Option<Options> row = field<Options>("margin", help + " [" + shortest(analysis::default_margin) + "]", place);
  row.set = [set = row.set, place](Options& options, const std::string& text) {
    set(options, text);
    const std::optional<double>& margin = place(options);
    if (!(*margin > 0 && *margin < 1))
      throw ConfigError("option out of range", "margin " + text, "above 0 and below 1, e.g. 0.01 for 1%");
  };
  return row;
}

}  // namespace onebit::experiments
