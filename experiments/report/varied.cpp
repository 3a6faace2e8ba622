#include "experiments/report/varied.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/compare/arm_names.hpp"

namespace onebit::experiments {
namespace {

constexpr const char* kNone = "none";  // value of an option that has no effect in an arm

}  // namespace

std::string value_of(const analysis::Arm& arm, const std::string& option) {
  const auto found = arm.options.find(option);
  if (found == arm.options.end()) return "";
  return analysis::has_effect(option, arm.options) ? found->second : kNone;
}

std::vector<VariedOption> varied(std::span<const analysis::Arm> arms) {
  std::map<std::string, std::set<std::string>> values;
  for (const analysis::Arm& arm : arms) {
    for (const auto& [option, value] : arm.options) {
      if (analysis::has_effect(option, arm.options)) values[option].insert(value);
    }
    values.erase(analysis::kLabel);  // it varies with what it stands for
  }
  std::vector<VariedOption> result;
  for (const auto& [option, set] : values) {
    if (set.size() < 2) continue;
    result.push_back({option, {set.begin(), set.end()}});
    const std::string& name = option;
    const auto ignores = [&](const analysis::Arm& arm) { return value_of(arm, name) == kNone; };
    if (std::ranges::any_of(arms, ignores)) result.back().values.emplace_back(kNone);
    std::ranges::sort(result.back().values, analysis::value_before);
  }
  return result;
}

}  // namespace onebit::experiments
