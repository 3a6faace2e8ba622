#pragma once
// Analyses of run logs as tables and as JSON.

#include <iosfwd>
#include <optional>

#include "analysis/compare/arms.hpp"
#include "analysis/freeze/diagnosis.hpp"
#include "analysis/theory/theory.hpp"
#include "analysis/freeze/variance.hpp"
#include "experiments/output/analyze_tables.hpp"

namespace onebit::experiments {

/// What was found in one log; a part that was not asked for, or that the log has nothing on, is absent.
struct LogAnalysis {
  std::string path;
  std::vector<analysis::Finding> findings;
  std::optional<analysis::VarianceView> variance;
  std::optional<analysis::StepSizes> steps;
  analysis::CompressionSeries compression;
  std::optional<analysis::TheoryView> theory;
  std::vector<std::string> left_out;  ///< parts that the log has nothing on, each with the reason
};

/// What went wrong in each run but notes, a line each.
std::vector<std::string> problems_of(const analysis::LogSet& logs);

void print_analysis(const LogAnalysis& analysis, std::ostream& out);
Json to_json(const LogAnalysis& analysis);

}  // namespace onebit::experiments
