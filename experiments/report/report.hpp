#pragma once
// A report of many logs: one page with its pictures in it, or their numbers as one tidy table.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compare/comparison.hpp"
#include "analysis/theory/theory.hpp"
#include "analysis/freeze/variance.hpp"
#include "experiments/report/figures.hpp"

namespace onebit::experiments {

struct ReportRequest {
  analysis::ComparisonRequest comparison;
  analysis::VarianceOptions variance;
};

/// Everything that a report says, read once.
struct Report {
  std::vector<analysis::Arm> arms;
  std::vector<std::string> left_out;  ///< logs of no use, a line each
  std::vector<std::string> problems;  ///< of single runs, a line each
  analysis::Comparison comparison;
  /// Of one run of each arm, its first that finished; arms without a variance are left out.
  std::vector<std::string> variance_arms;
  std::vector<analysis::VarianceView> variances;
  std::vector<std::optional<analysis::StepSizes>> step_sizes;  ///< [variances]
  std::vector<std::string> without_variance;                   ///< those, a line each with the reason
  /// Of the same runs where they were probed.
  std::vector<std::string> theory_arms;
  std::vector<analysis::TheoryView> theories;
  std::vector<std::string> without_theory;  ///< probed runs that have no such view, a line each with the reason
};

/// Throws what read_logs and compare throw.
Report make_report(const std::vector<std::string>& paths, const ReportRequest& request,
                   const netmodel::CostModel& model);

std::vector<Figure> figures_of(const Report& report);

/// The document, with its figures_of. Without gnuplot it has no pictures, and says so.
std::string html_of(const Report& report, const std::vector<Figure>& figures);

/// A row an evaluation: arm, seed, log, status, step, samples, bytes, loss, accuracy.
void write_csv(const Report& report, std::ostream& out);

}  // namespace onebit::experiments
