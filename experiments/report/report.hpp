#pragma once
// A report on many logs: one page with embedded pictures, or all evaluations in one table.

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"
#include "analysis/freeze/variance.hpp"
#include "analysis/theory/theory.hpp"
#include "experiments/output/findings.hpp"
#include "experiments/report/figures.hpp"

namespace onebit::experiments {

struct ReportRequest {
  std::vector<std::string> arms = {};  ///< arms to report on, by their names or those of their grids; empty: all
  bool best = false;                   ///< whether to report only on the arms at the best rate of their grid
  analysis::ComparisonRequest comparison;
  analysis::VarianceOptions variance;
};

/// A sentence on the costs of reaching a loss; it may be empty.
struct TargetCosts {
  std::string text;
  bool in_answer = false;  ///< whether it belongs to the answer instead of the evidence
  std::string note = {};   ///< sentences that follow it in the evidence
};

/// The contents of a report, read once.
struct Report {
  std::vector<analysis::Arm> arms;
  std::vector<std::string> left_out;  ///< unusable logs, one line for each
  std::vector<SharedFinding> findings;
  analysis::Comparison comparison;
  std::vector<std::string> shown;  ///< arms of the figures and views: those at the best rates, and those requested
  std::map<std::string, TargetCosts> target_costs;  ///< by the arm of a verdict: see the function target_costs
  /// Views of one run of each shown arm, the first that finished. Arms without a variance are left out.
  std::vector<std::string> variance_arms;
  std::vector<analysis::VarianceView> variances;
  std::vector<std::optional<analysis::StepSizes>> step_sizes;  ///< step sizes, one entry per element of variances
  std::vector<std::string> without_variance;  ///< arms without a variance, one line each with the reason
  /// Views of the same runs, if they were probed.
  std::vector<std::string> theory_arms;
  std::vector<analysis::TheoryView> theories;
  std::vector<std::string> without_theory;  ///< probed runs without such a view, one line each with the reason

  /// Whether the arm of this name is one of `shown`.
  bool shows(const std::string& arm) const;
};

/// Returns the run that represents an arm in views of a single log.
const analysis::Run& example_of(const analysis::Arm& arm);

/// Reads logs into a report. Throws what read_logs and compare throw, and ConfigError for a requested arm that does not
/// exist.
Report make_report(const std::vector<std::string>& paths, const ReportRequest& request,
                   const netmodel::CostModel& model);

/// Returns the report of logs that have been read, without views of individual runs. Throws what compare throws, and
/// ConfigError for a requested arm that does not exist.
Report report_of(analysis::LogSet logs, const ReportRequest& request, const netmodel::CostModel& model);

std::vector<Figure> figures_of(const Report& report);

/// Returns the prefix that the names of an arm's figures share in one part of the page. The prefix contains the arm's
/// number, because one arm's name may be a prefix of another's.
std::string numbered(const std::string& part, std::size_t arm);

/// Writes one row per evaluation: arm, seed, log, status, step, samples, bytes, loss, accuracy, auc.
void write_csv(const Report& report, std::ostream& out);

}  // namespace onebit::experiments
