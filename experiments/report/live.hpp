#pragma once
// The page of logs that are still being written.

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Builds the top of a report on request, and rebuilds it if a file has changed since the last request. It
/// reads only logs that have changed, draws no pictures and writes nothing.
class LivePage {
 public:
  /// The cost model must outlive the page.
  LivePage(std::vector<std::string> paths, ReportRequest request, std::string title, const netmodel::CostModel& model)
      : paths_(std::move(paths)), request_(std::move(request)), title_(std::move(title)), model_(model) {}

  /// Returns the whole page, which requests `update` every few seconds.
  std::string page();
  /// Returns the parts of the page that change, as a JSON object: the beginning of the page and the map as HTML, and
  /// the data of the chart. If no log can be used yet, the object says why.
  std::string update();

 private:
  struct Known {
    std::filesystem::file_time_type written;
    std::uintmax_t size = 0;
    analysis::Run run;
  };

  /// A file's name, time and size.
  struct Stamp {
    std::string path;
    std::filesystem::file_time_type written;
    std::uintmax_t size = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };

  std::vector<Stamp> stamps() const;
  /// Makes an update, and sets whole_.
  std::string made_update();
  analysis::Run read(const std::string& path);
  std::string progress_of(const analysis::LogSet& logs) const;

  std::vector<std::string> paths_;
  ReportRequest request_;
  std::string title_;
  const netmodel::CostModel& model_;
  std::map<std::string, Known> known_;
  std::vector<Stamp> stamps_;  ///< stamps of the files that update_ was made from
  std::string update_;
  bool whole_ = false;  ///< whether update_ covers all logs; an unreadable one may be readable next time
};

}  // namespace onebit::experiments
