#pragma once
// What freezing the variance earlier or later would have cost: continuations from one dense run, over paired seeds.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/verdict.hpp"

namespace onebit::analysis {

/// One continuation: frozen where a threshold said so.
struct FreezeTrial {
  double threshold = 0;
  std::uint32_t seed = 0;
  Index freeze_step = 0;  ///< 0: the threshold was not reached before the last step, and nothing was run
  double final_loss = 0;  ///< NaN: it diverged
  double ratio_fp16 = 0;  ///< bytes of dense fp16 all-reduces over those sent
};

/// The dense run of a seed, which is not frozen.
struct DenseTrial {
  std::uint32_t seed = 0;
  double final_loss = 0;
  double ratio_fp16 = 0;
};

enum class FreezeVerdict {
  safe,         ///< every seed reached it, none diverged, and to_dense ends below the margin: not inferior
  costs,        ///< a seed diverged, or to_dense begins above 0
  not_resolved  ///< the seeds do not tell
};

/// A threshold over its seeds. Intervals are those of the seeds that reached it and did not diverge.
struct FreezeRow {
  double threshold = 0;
  Index seeds = 0, reached = 0, diverged = 0;
  Interval freeze_step, final_loss;
  Difference to_dense;    ///< of final losses, paired by seed; positive: higher than dense
  double ratio_fp16 = 0;  ///< mean over the seeds
  FreezeVerdict verdict = FreezeVerdict::not_resolved;
};

struct FreezeValidation {
  double margin = default_margin;  ///< relative difference of final losses that is small, as of other verdicts
  Interval dense_loss;
  double dense_ratio_fp16 = 0;
  std::vector<FreezeTrial> trials;      ///< as they were given
  std::vector<FreezeRow> rows;          ///< by rising threshold
  std::optional<std::size_t> earliest;  ///< the first safe row behind which none costs anything
};

/// Trials of a seed without a dense run are left out. Each threshold is judged for itself, by 95% intervals.
FreezeValidation validate_freeze(std::span<const DenseTrial> dense, std::span<const FreezeTrial> trials,
                                 double margin = default_margin);

}  // namespace onebit::analysis
