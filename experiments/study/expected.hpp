#pragma once
// What a preset gave when it was recorded, and whether runs of now agree. The record is the runs.csv of `compare`,
// kept as presets/NAME.csv next to presets/NAME.ini.

#include <string>
#include <vector>

#include "analysis/compare/paired.hpp"
#include "experiments/study/comparison.hpp"

namespace onebit::experiments {

/// A recorded run: the columns that do not depend on time.
struct ExpectedRun {
  std::string arm;
  std::uint32_t seed = 0;
  std::string status;
  Index steps = 0, freeze_step = 0;
  double final_loss = 0;  ///< NaN: it diverged
  double bytes = 0;       ///< sent by one worker
};

/// Rows of a file with the columns arm, seed, status, steps, freeze_step, final_loss and bytes_per_worker, in any order
/// and among others. Throws ConfigError: no file, a column missing, no number, with the line.
std::vector<ExpectedRun> read_expected(const std::string& path);

enum class Agreement {
  same,  ///< every run has the recorded final loss, to its last bit
  /// As other compilers and devices round: losses differ by at most 0.1%, or without a direction over the seeds and
  /// within the interval that was recorded; a rule froze a few steps earlier or later.
  close,
  differs  ///< beyond that; or other seeds, ends, steps or bytes
};

/// An arm against its record.
struct ArmAgreement {
  std::string arm;
  analysis::Interval expected, measured;  ///< of the final losses
  double largest = 0;                     ///< relative difference of a run's final loss
  Agreement agreement = Agreement::same;
  std::string reason;  ///< for differs
};

/// Every arm of the record and of the runs.
std::vector<ArmAgreement> agreements(const std::vector<ExpectedRun>& expected, const std::vector<ArmRuns>& arms);

}  // namespace onebit::experiments
