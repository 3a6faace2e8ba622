#include "experiments/report/live.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "device/base/error.hpp"
#include "experiments/report/chart.hpp"
#include "experiments/report/front.hpp"
#include "experiments/report/html.hpp"
#include "experiments/report/loss_map.hpp"

namespace onebit::experiments {
namespace {

namespace fs = std::filesystem;

std::string index_of(const std::string& folder) {
  return fs::path(folder) / "index.csv";
}

/// Returns the number of points of the sweeps in the folders: the rows of their indices.
Index planned_points(const std::vector<std::string>& paths) {
  Index points = 0;
  for (const std::string& path : paths) {
    std::ifstream index(index_of(path));
    const auto lines = std::count(std::istreambuf_iterator<char>(index), {}, '\n');
    points += std::max<Index>(0, lines - 1);
  }
  return points;
}

/// Makes the page request updates.
constexpr const char* kWatching = "<script>document.documentElement.dataset.watch = \"2500\";</script>\n";

}  // namespace

analysis::Run LivePage::read(const std::string& path) {
  std::error_code error;
  const fs::file_time_type written = fs::last_write_time(path, error);
  const std::uintmax_t size = error ? 0 : fs::file_size(path, error);
  if (error) throw IoError("cannot read log: " + error.message(), path);
  const auto known = known_.find(path);
  if (known != known_.end() && known->second.written == written && known->second.size == size) return known->second.run;
  analysis::Run run = analysis::read_run(path);
  known_[path] = {written, size, run};
  return run;
}

std::string LivePage::progress_of(const analysis::LogSet& logs) const {
  const Index planned = planned_points(paths_), runs = std::ssize(logs.runs);
  const auto count = [&](analysis::Outcome outcome) {
    return std::ranges::count_if(logs.runs, [&](const analysis::Run& run) { return outcome_of(run) == outcome; });
  };
  Index steps = 0;
  for (const analysis::Run& run : logs.runs) steps += run.summary.steps;
  std::string text = std::to_string(count(analysis::Outcome::finished)) + " of " +
                     html::counted(std::max(planned, runs), "run") + " finished, " +
                     std::to_string(count(analysis::Outcome::unfinished)) + " under way";
  if (const Index diverged = count(analysis::Outcome::diverged)) text += ", " + std::to_string(diverged) + " diverged";
  if (const Index failed = count(analysis::Outcome::failed)) text += ", " + std::to_string(failed) + " failed";
  return text + "; " + html::counted(steps, "step") + " so far.";
}

/// Returns the stamps of all files that an update depends on; empty if they cannot be listed.
std::vector<LivePage::Stamp> LivePage::stamps() const {
  std::vector<Stamp> stamps;
  try {
    std::vector<std::string> files = analysis::log_paths(paths_);
    for (const std::string& path : paths_) files.push_back(index_of(path));
    for (const std::string& file : files) {
      std::error_code error;
      const fs::file_time_type written = fs::last_write_time(file, error);
      const std::uintmax_t size = error ? 0 : fs::file_size(file, error);
      stamps.push_back({file, error ? fs::file_time_type() : written, error ? 0 : size});
    }
  } catch (const Error&) {
    return {};  // a folder without a log yet
  }
  return stamps;
}

std::string LivePage::update() {
  std::vector<Stamp> now = stamps();  // before the files are read: what changes meanwhile is read next time
  if (now.empty() || now != stamps_ || !whole_) update_ = made_update();
  stamps_ = std::move(now);
  return update_;
}

std::string LivePage::made_update() {
  whole_ = false;
  try {
    analysis::LogSet logs = analysis::read_logs(paths_, [this](const std::string& path) { return read(path); });
    const std::string progress = progress_of(logs);
    const bool all = logs.left_out.empty();
    const Report report = report_of(std::move(logs), request_, model_);
    const std::string title = title_.empty() ? title_of(report) : title_;
    std::string text = Json::object({{"title", title},
                                     {"progress", progress},
                                     {"front", front_html(report, title)},
                                     {"map", loss_map_html(report)},
                                     {"curves", chart_data(report.comparison, report.shown)}})
                           .text();
    whole_ = all;
    return text;
  } catch (const Error& error) {
    return Json::object({{"title", "onebit watch"},
                         {"progress", std::string("Nothing to show yet: ") + error.what()},
                         {"front", html::heading(1, "onebit watch")},
                         {"map", ""},
                         {"curves", Json::object({})}})
        .text();
  }
}

std::string LivePage::page() {
  // The first update, a moment later, fills the page.
  return html::page(title_.empty() ? "onebit watch" : title_,
                    kWatching + html::division("front", "") + chart_html("") + html::division("map", ""));
}

}  // namespace onebit::experiments
