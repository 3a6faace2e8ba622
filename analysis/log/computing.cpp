#include "analysis/log/computing.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::analysis {

SharedComputing::SharedComputing(std::span<const NamedRun> runs) {
  std::vector<std::vector<double>> seconds;
  for (const auto& [arm, run] : runs) {
    const auto [place, is_new] = places_.emplace(run->gradients, groups_.size());
    if (is_new) {
      groups_.emplace_back();
      seconds.emplace_back();
    }
    std::vector<std::string>& arms = groups_[place->second].arms;
    if (std::ranges::find(arms, arm) == arms.end()) arms.push_back(arm);
    if (std::isfinite(run->compute_seconds)) seconds[place->second].push_back(run->compute_seconds);
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].runs = std::ssize(seconds[i]);
    if (seconds[i].empty()) continue;
    std::ranges::sort(seconds[i]);
    groups_[i].seconds = seconds[i][(seconds[i].size() - 1) / 2];
    groups_[i].least = seconds[i].front();
    groups_[i].most = seconds[i].back();
  }
}

RunSize SharedComputing::size_of(const Summary& run) const {
  return {run.workers, run.parameters, run.batch, groups_[places_.at(run.gradients)].seconds, run.passes};
}

}  // namespace onebit::analysis
