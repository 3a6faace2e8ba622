#include "analysis/log/stages.hpp"

#include <algorithm>

namespace onebit::analysis {
namespace {

/// Number of most recent kinds with which a step is compared; a step of any other kind counts as a new kind.
constexpr std::size_t kKinds = 16;

}  // namespace

void StageTraffic::add(netmodel::StepTraffic step, Index count) {
  const auto recent = kinds.end() - static_cast<std::ptrdiff_t>(std::min(kinds.size(), kKinds));
  auto same = std::find_if(recent, kinds.end(), [&](const StepKind& kind) { return kind.traffic == step; });
  if (same == kinds.end()) same = kinds.insert(kinds.end(), {std::move(step), 0});
  same->count += count;
}

Index StageTraffic::steps() const {
  Index sum = 0;
  for (const StepKind& kind : kinds) sum += kind.count;
  return sum;
}

StageTraffic StageTraffic::sample(std::size_t most) const {
  if (kinds.size() <= most) return *this;
  StageTraffic some{name, {}, compressed};
  for (std::size_t i = 0; i < most; ++i) some.kinds.push_back(kinds[i * kinds.size() / most]);
  return some;
}

netmodel::StepTraffic traffic_of(const StepRange& range, const Encoding& encoding) {
  if (!range.compressed || range.each.empty()) return {.exchanges = range.each, .gradients = range.gradients};
  return {range.each, encoding.parameters, encoding.passes, range.gradients};
}

std::vector<StageTraffic> stages_of(const std::vector<StepRange>& ranges, const Encoding& encoding) {
  std::vector<StageTraffic> stages;
  for (const StepRange& range : ranges) {
    const std::string name(optim::name(range.phase));
    auto stage = std::ranges::find(stages, name, &StageTraffic::name);
    if (stage == stages.end()) stage = stages.insert(stages.end(), {name, {}, range.compressed});
    stage->add(traffic_of(range, encoding), range.last - range.first + 1);
  }
  return stages;
}

}  // namespace onebit::analysis
