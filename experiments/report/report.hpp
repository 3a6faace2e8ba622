#pragma once
// A report on many logs: one page with embedded pictures, or all evaluations in one table.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"
#include "analysis/freeze/variance.hpp"
#include "analysis/theory/theory.hpp"
#include "experiments/report/figures.hpp"

namespace onebit::experiments {

struct ReportRequest {
  analysis::ComparisonRequest comparison;
  analysis::VarianceOptions variance;
};

/// The contents of a report, read once.
struct Report {
  std::vector<analysis::Arm> arms;
  std::vector<std::string> left_out;  ///< unusable logs, one line for each
  std::vector<std::string> problems;  ///< problems of single runs, one line each
  analysis::Comparison comparison;
  /// Views of one run of each arm, the first that finished. Arms without a variance are left out.
  std::vector<std::string> variance_arms;
  std::vector<analysis::VarianceView> variances;
  std::vector<std::optional<analysis::StepSizes>> step_sizes;  ///< step sizes, one entry per element of variances
  std::vector<std::string> without_variance;  ///< arms without a variance, one line each with the reason
  /// Views of the same runs, if they were probed.
  std::vector<std::string> theory_arms;
  std::vector<analysis::TheoryView> theories;
  std::vector<std::string> without_theory;  ///< probed runs without such a view, one line each with the reason
};

/// Reads logs into a report. Throws what read_logs and compare throw.
Report make_report(const std::vector<std::string>& paths, const ReportRequest& request,
                   const netmodel::CostModel& model);

std::vector<Figure> figures_of(const Report& report);

/// Returns the document with its figures (figures_of). Without gnuplot the page says that it has no pictures.
std::string html_of(const Report& report, const std::vector<Figure>& figures);

/// Writes one row per evaluation: arm, seed, log, status, step, samples, bytes, loss, accuracy.
void write_csv(const Report& report, std::ostream& out);

}  // namespace onebit::experiments
