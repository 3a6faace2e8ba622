#pragma once
// Recorded results, and whether current runs agree with them. The record is a card, or that of a preset: the runs.csv
// of `compare`, kept in the source tree as experiments/expected/NAME.csv.

#include <string>
#include <vector>

#include "analysis/compare/paired.hpp"
#include "experiments/study/arm_runs.hpp"

namespace onebit::experiments {

/// The columns of a recorded run that do not depend on time.
struct ExpectedRun {
  std::string arm;
  std::uint32_t seed = 0;
  std::string status;
  Index steps = 0, freeze_step = 0;
  double final_loss = 0;   ///< NaN if the run diverged
  double bytes = 0;        ///< bytes sent by one worker
  std::string curve = {};  ///< curve_of its evaluations; empty: not recorded
};

/// Returns the hash of the steps, losses and AUCs of a run's evaluations, as 16 hex digits.
std::string curve_of(const std::vector<sim::EvaluationRow>& evaluations);

/// Returns the record of a run.
ExpectedRun expected_of(const std::string& arm, const analysis::Run& run);

/// Reads the rows of a file with the columns arm, seed, status, steps, freeze_step, final_loss and bytes_per_worker, in
/// any order; other columns are ignored. Throws ConfigError, with the line, for a missing file or column and for
/// malformed numbers.
std::vector<ExpectedRun> read_expected(const std::string& path);

enum class Agreement {
  same,  ///< every run has the recorded steps, bytes, final loss and curve, bit for bit
  /// Rounding on other compilers and devices can explain the differences: losses differ by at most 0.1%, or their
  /// differences have no consistent sign over the seeds and the mean loss lies within the recorded interval. A rule may
  /// freeze a few steps earlier or later.
  close,
  differs  ///< larger differences, or different seeds, outcomes, steps or bytes
};

/// Comparison of an arm with its record.
struct ArmAgreement {
  std::string arm;
  analysis::Interval expected, measured;  ///< intervals of the final losses
  double largest = 0;                     ///< largest relative difference of a run's final loss
  Agreement agreement = Agreement::same;
  std::string reason;  ///< why the agreement is `differs`; otherwise empty
};

/// Compares every arm that is in the record or in the runs.
std::vector<ArmAgreement> agreements(const std::vector<ExpectedRun>& expected, const std::vector<analysis::Arm>& arms);

}  // namespace onebit::experiments
