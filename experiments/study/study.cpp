#include "experiments/study/study.hpp"

#include <algorithm>
#include <filesystem>

#include "analysis/compare/arms.hpp"
#include "device/base/text.hpp"

namespace onebit::experiments {

void warn_of_other_logs(const Study& study, const std::vector<std::string>& own) {
  constexpr std::size_t most = 4;
  if (!std::filesystem::is_directory(study.folder)) return;
  std::vector<std::string> others;
  for (const std::string& path : analysis::logs_in(study.folder)) {
    const std::string name = std::filesystem::path(path).filename();
    if (std::ranges::find(own, study.folder + "/" + name) == own.end()) others.push_back(name);
  }
  if (others.empty()) return;
  const std::size_t count = others.size();
  others.resize(std::min(count, most));
  study.training.watcher.on_warning(
      study.folder + " also holds " + std::to_string(count) + (count == 1 ? " log" : " logs") + " of other runs (" +
      join(others, ", ") + (count > most ? ", ..." : "") + "), which commands that read the folder will include");
}

void warn_of_idle_options(const Study& study, const std::vector<GivenRun>& runs) {
  const std::string text = text_of(idle_options(given_options(study.run), runs));
  if (!text.empty()) study.training.watcher.on_warning(text);
}

}  // namespace onebit::experiments
