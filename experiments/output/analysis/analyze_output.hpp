#pragma once
// Analyses of run logs, as tables and as JSON.

#include <iosfwd>
#include <optional>

#include "analysis/freeze/diagnosis.hpp"
#include "analysis/freeze/variance.hpp"
#include "analysis/theory/theory.hpp"
#include "experiments/output/analysis/analyze_tables.hpp"

namespace onebit::experiments {

/// The findings in one log; parts that were not requested, or for which the log has no data, are absent.
struct LogAnalysis {
  std::string path;
  std::vector<analysis::Finding> findings;
  std::optional<analysis::VarianceView> variance;
  std::optional<analysis::StepSizes> steps;
  analysis::CompressionSeries compression;
  std::optional<analysis::TheoryView> theory;
  std::vector<std::string> left_out;  ///< for each part without data in the log, the reason
};

void print_analysis(const LogAnalysis& analysis, std::ostream& out);
Json to_json(const LogAnalysis& analysis);

}  // namespace onebit::experiments
