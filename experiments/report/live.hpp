#pragma once
// The page of logs that are still being written.

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Makes the beginning of a report anew when it is asked for. It reads only logs that have changed, draws no pictures
/// and writes nothing.
class LivePage {
 public:
  /// The cost model must outlive the page.
  LivePage(std::vector<std::string> paths, ReportRequest request, std::string title, const netmodel::CostModel& model)
      : paths_(std::move(paths)), request_(std::move(request)), title_(std::move(title)), model_(model) {}

  /// Returns the whole page, which asks for `update` every few seconds.
  std::string page();
  /// Returns what changes in the page, as a JSON object: its beginning and map as HTML, and the data of the chart;
  /// without a log that can be used yet, it says why.
  std::string update();

 private:
  struct Known {
    std::filesystem::file_time_type written;
    std::uintmax_t size = 0;
    analysis::Run run;
  };

  analysis::Run read(const std::string& path);
  std::string progress_of(const analysis::LogSet& logs) const;

  std::vector<std::string> paths_;
  ReportRequest request_;
  std::string title_;
  const netmodel::CostModel& model_;
  std::map<std::string, Known> known_;
};

}  // namespace onebit::experiments
