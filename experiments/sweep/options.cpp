#include "experiments/sweep/options.hpp"

#include "device/base/error.hpp"
#include "experiments/cli/command_line.hpp"
#include "experiments/cli/output_name.hpp"
#include "experiments/cli/rows.hpp"

namespace onebit::experiments {
namespace {

using Rows = std::vector<Option<SweepOptions>>;

Rows point_rows() {
  using Row = Option<SweepOptions>;
  Row tune = field<SweepOptions>(
      "tune", "find the best value of an option for each arm by golden section: key=low:high", ONEBIT_PLACE(tune));
  tune.twice = "only one option can be tuned at a time; sweep the other with --axis";
  Row tune_points = between<SweepOptions>(
      "tune-points", "number of values that --tune tries for each arm; not given: 8", 2, 24, ONEBIT_PLACE(tune_points));
  tune_points.get = [](const SweepOptions&) { return std::string(); };
  return {
      repeated<SweepOptions>(
          "axis",
          "values of an option of a run: key=a,b,c or key=low:high:log:count; lin for equal steps, round for log with "
          "round values",
          ONEBIT_PLACE(axes)),
      repeated<SweepOptions>("zip", "axes that advance together: key,key", ONEBIT_PLACE(zips)),
      repeated<SweepOptions>("skip", "leave out points where all of 'key=value,key=value' hold", ONEBIT_PLACE(skips)),
      tune, tune_points};
}

/// A limit in seconds, at least 0.
Option<SweepOptions> time_limit_row() {
  return holding<SweepOptions>(
      ValueKind::real, {"time-limit", "time limit of a run in seconds; 0: unlimited",
                        [](SweepOptions& options, const std::string& text) {
                          options.time_limit = parse_seconds("time-limit", text);
                          if (options.time_limit < 0)
                            throw ConfigError("option out of range", "time-limit " + text, "at least 0 seconds");
                        },
                        [](const SweepOptions& options) { return to_text(options.time_limit); }});
}

Rows execution_rows() {
  return {
      between<SweepOptions>("jobs", "runs at a time; 0: cores divided by --threads", 0, 4096, ONEBIT_PLACE(jobs)),
      between<SweepOptions>("retries", "restarts after a failure other than a divergence", 0, 1000,
                            ONEBIT_PLACE(retries)),
      time_limit_row(),
      field<SweepOptions>("shard",
                          "i/n: run only points p with p % n == i, where a tuned arm counts as one point; not given: "
                          "SLURM_PROCID/SLURM_NTASKS if set, otherwise all",
                          ONEBIT_PLACE(shard)),
      flag<SweepOptions>("extend", "add the points to the sweep that is already in the folder", ONEBIT_PLACE(extend)),
      flag<SweepOptions>("resume", "continue the sweep that the folder holds, with its options", ONEBIT_PLACE(resume)),
      flag<SweepOptions>("retry-failed", "run points again that failed or exceeded the time limit",
                         ONEBIT_PLACE(retry_failed)),
      json_row<SweepOptions>(),
      dry_run_row<SweepOptions>(),
      progress_row<SweepOptions>()};
}

}  // namespace

Rows sweep_rows() {
  return joined<SweepOptions>({{out_row<SweepOptions>("folder for the runs and their table", made_up_form("sweep"))},
                               arms_rows<SweepOptions>(),
                               {seeds_row<SweepOptions>()},
                               point_rows(),
                               execution_rows()});
}

Command sweep_syntax() {
  return {.name = "sweep",
          .doc = "train a grid of runs, each in its own process, with resuming, retries and shards on several machines",
          .accepts = {.run = true, .config = true, .preset = true, .deepspeed = true},
          .help = {.common = {"out", "preset", "optimizers", "arm", "axis", "skip", "seeds", "tune", "jobs", "model",
                              "data", "workers", "batch", "steps", "retry-failed", "extend", "dry-run", "json"},
                   .examples = {"onebit sweep --preset mnist-mlp --axis lr=1e-4:1e-1:round:7 -o sweep",
                                "onebit sweep --preset ngram-lr --tune lr=1e-4:1e-1 --jobs 2"}},
          .own = own_options(sweep_rows())};
}

SweepOptions sweep_options(const std::vector<std::string>& arguments) {
  const Command command = sweep_syntax();
  return options_from(parse_command_line(command, {&command, 1}, arguments), sweep_rows());
}

}  // namespace onebit::experiments
