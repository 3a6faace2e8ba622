#pragma once

#include <algorithm>

#include "optim/optimizer.hpp"

namespace onebit::optim {

/// Counts steps 1 to `steps` by kind. kind_of(step), called in order, returns a step's phase and whether the step
/// synchronises.
template <class KindOf>
std::vector<StepCount> count_steps(Index steps, const KindOf& kind_of) {
  std::vector<StepCount> counts;
  for (Index step = 1; step <= steps; ++step) {
    const std::pair<Phase, bool> kind = kind_of(step);
    const auto same = [&](const StepCount& each) { return std::pair(each.phase, each.synchronised) == kind; };
    auto found = std::ranges::find_if(counts, same);
    if (found == counts.end()) found = counts.insert(counts.end(), {kind.first, kind.second, 0});
    ++found->steps;
  }
  return counts;
}

}  // namespace onebit::optim
