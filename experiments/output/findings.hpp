#pragma once
// What went wrong in many runs, in a few lines.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/compare/arms.hpp"
#include "analysis/freeze/diagnosis.hpp"

namespace onebit::experiments {

/// A finding and the runs that have it. Findings with the same text count as one; so do findings on the runs of one arm
/// that differ only in numbers.
struct SharedFinding {
  analysis::Cause cause = analysis::Cause::errors_lost;
  analysis::Severity severity = analysis::Severity::warning;
  std::string text;  ///< with ranges of the numbers in which runs differ: "the loss ended at 11.9–14.2, ..."
  std::string hint;  ///< what to do about it, with the numbers of the first run; may be empty
  std::map<std::size_t, std::vector<std::uint32_t>> seeds;  ///< seeds by index of the arm
  std::vector<std::string> paths;
};

/// Returns the findings on the runs, except notes; a divergence that is explained by another finding is included in
/// that finding. Throws what diagnose throws.
std::vector<SharedFinding> findings_of(std::span<const analysis::Arm> arms);

/// Returns "adam, lr 0.1, seeds 1, 2: problem: ...; lower optimizer.lr (out/adam-1.h5 and 1 more)".
std::string line_of(const SharedFinding& finding, std::span<const analysis::Arm> arms);

/// Returns the line without severity and hint.
std::string plain_line_of(const SharedFinding& finding, std::span<const analysis::Arm> arms);

/// Returns the finding as one line, without hint and files, that begins with its severity ("Warning: adam, seed 1:
/// ...") and covers only the runs whose arms have one of these names; returns an empty string if there are no such
/// runs.
std::string line_on(const std::vector<std::string>& names, const SharedFinding& finding,
                    std::span<const analysis::Arm> arms);

}  // namespace onebit::experiments
