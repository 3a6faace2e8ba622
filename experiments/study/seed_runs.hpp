#pragma once
// The runs of one seed of a freeze laboratory: a dense run, and continuations of it that freeze after a step.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/arms.hpp"
#include "experiments/cli/command_line.hpp"
#include "sim/run/config.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/train.hpp"

namespace onebit::experiments {

/// The settings with the seed that is so many further.
sim::RunConfig config_of(const Settings& settings, Index seed);

/// The same with the variance frozen after so many steps.
sim::RunConfig frozen_config(const Settings& settings, Index seed, Index step);

/// Makes line.out. Logs of before must not be taken for those of now, whose freeze steps may be others: without
/// line.resume they are removed, or with neither that nor line.overwrite refused (ConfigError).
void make_room(const CommandLine& line, const std::vector<Arm>& arms);

/// Runs in line.out: dense-SEED.h5, and ARM-STEP-SEED.h5 for those that freeze after STEP. Where the optimizer is dense
/// until its freeze they are continuations of the dense run, with the bits of a whole run with `--freeze fixed:STEP`;
/// those of 0/1 Adam are whole runs. With line.resume logs that are complete are kept. The command line outlives it.
class SeedRuns {
 public:
  /// What branches off from the dense run before a step.
  using Branches = std::map<Index, std::vector<const Arm*>>;

  /// seed: so many further than that of the settings; target: loss that FreezeOutcome::steps counts to.
  SeedRuns(const CommandLine& line, Index seed, double target);

  /// False: asked to stop before the end. Throws NumericError where the dense run has no final loss.
  bool run_dense();

  /// After run_dense: the dense steps once more, up to the last one before each step, as far as something is missing
  /// there. False: asked to stop.
  bool run(const Branches& branches);

  std::uint32_t seed() const { return config_.seed; }
  analysis::DenseTrial dense() const;
  const std::string& dense_path() const { return dense_; }
  std::string path_of(const Arm& arm, Index step) const;
  analysis::FreezeOutcome outcome(const Arm& arm, Index step) const;

 private:
  std::string label(const std::string& what) const;
  sim::RunConfig branch_config(const Arm& arm, Index step) const;
  bool is_done(const Arm& arm, Index step) const;
  std::string label_of(const Arm& arm, Index step) const;
  bool run_branches(const Branches& missing);
  bool run_whole(const Branches& missing);
  /// False: it was asked to stop. Throws Error where it failed.
  static bool went_on(const sim::RunResult& result, const std::string& path);
  bool branch(const Arm& arm, Index step, const std::string& checkpoint) const;

  const CommandLine& line_;
  Index seed_;
  double target_;
  sim::RunConfig config_;  ///< of the dense run
  bool branches_;          ///< whether what freezes is a continuation of it, or a run of its own
  std::string dense_;
};

}  // namespace onebit::experiments
