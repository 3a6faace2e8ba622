#pragma once
// The runs of one seed of a freeze experiment: a dense run, and continuations of it that freeze after a step.

#include <map>
#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/study/arms.hpp"
#include "sim/log/reader.hpp"
#include "sim/run/config.hpp"
#include "sim/run/train.hpp"

namespace onebit::experiments {

/// Returns the configuration that the settings describe, with `seed` added to its seed.
sim::RunConfig config_of(const Settings& settings, Index seed);

/// Returns the configuration of config_of with the variance frozen after `step` steps.
sim::RunConfig frozen_config(const Settings& settings, Index seed, Index step);

/// Makes the study's folder. Logs of an earlier experiment, whose freeze steps may differ, must not be mistaken for
/// those of this one: they are removed if output may be overwritten, kept if runs are resumed, and otherwise refused
/// (ConfigError).
void make_room(const Study& study, const std::vector<Arm>& arms);

/// The runs of one seed, with logs in the study's folder: dense-SEED.h5 for the dense run, and ARM-STEP-SEED.h5 for a
/// run that freezes after STEP. If the optimizer is dense until its freeze, the runs that freeze are continuations of
/// the dense run, bit-identical to a whole run with `--freeze fixed:STEP`; for 0/1 Adam they are whole runs. When runs
/// are resumed, complete logs are kept. The study must outlive this object.
class SeedRuns {
 public:
  /// Arms that branch off from the dense run, by their freeze step.
  using Branches = std::map<Index, std::vector<const Arm*>>;

  /// seed: offset from the seed of the settings. target: the target loss of FreezeOutcome::steps.
  SeedRuns(const Study& study, Index seed, double target);

  /// Trains the dense run. Returns false if a signal stopped it. Throws NumericError if it has no final loss.
  bool run_dense();

  /// Trains the branches that do not exist yet; call run_dense first. For continuations it computes the dense steps
  /// again, up to the last one before each freeze. Returns false if a signal stopped it.
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
  /// Returns false if the run was asked to stop. Throws Error if it failed.
  static bool went_on(const sim::RunResult& result, const std::string& path);
  bool branch(const Arm& arm, Index step, const std::string& checkpoint) const;

  const Study& study_;
  Index seed_;
  double target_;
  sim::RunConfig config_;  ///< configuration of the dense run
  bool branches_;          ///< whether frozen runs continue the dense run; otherwise they are whole runs
  std::string dense_;
};

}  // namespace onebit::experiments
