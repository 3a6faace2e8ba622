#include "experiments/output/pricing/cost_output.hpp"

#include <algorithm>
#include <cmath>

#include "device/base/text.hpp"
#include "experiments/output/analysis/interval_output.hpp"

namespace onebit::experiments {

std::string cost_text(const analysis::FreezeCost& cost) {
  const auto diverged = std::ranges::count_if(cost.by_seed, [](double value) { return std::isinf(value); });
  if (diverged == 0) return percent_interval(cost.interval);
  return std::to_string(diverged) + " of " + std::to_string(cost.by_seed.size()) + " diverged";
}

std::string verdict_text(const analysis::FreezeCost& cost) {
  const std::string text(analysis::name(cost.verdict));
  if (!cost.reason.empty()) return text + ": " + cost.reason;
  if (cost.more_seeds == 0) return text;
  return text + ": about " + std::to_string(cost.more_seeds) + (cost.more_seeds == 1 ? " more seed" : " more seeds") +
         " would settle it";
}

std::string measure_text(const analysis::FreezeCriterion& criterion, const std::string& reference) {
  switch (criterion.measure) {
    case analysis::FreezeMeasure::accuracy:
      return "costs: decrease of the accuracy, in percentage points";
    case analysis::FreezeMeasure::steps:
      return "costs: additional steps to the target, as a share of the dense run's";
    case analysis::FreezeMeasure::loss:
      break;
  }
  return "costs: increase of a run's final loss over that of the run it is compared with, as a share of the amount by "
         "which the dense runs' mean final loss exceeds " +
         reference;
}

std::string seeds_text(const std::vector<std::uint32_t>& seeds) {
  std::vector<std::string> words;
  for (const std::uint32_t seed : seeds) words.push_back(std::to_string(seed));
  return (seeds.size() == 1 ? "seed " : "seeds ") + join(words, ", ");
}

Json cost_json(const analysis::FreezeCost& cost) {
  std::vector<Json> seeds;
  for (const double value : cost.by_seed) seeds.push_back(std::isinf(value) ? Json("diverged") : Json(value));
  return Json::object({{"by_seed", Json::array(seeds)},
                       {"mean", interval_json(cost.interval)},
                       {"p", cost.p},
                       {"verdict", std::string(analysis::name(cost.verdict))},
                       {"more_seeds", cost.more_seeds},
                       {"reason", cost.reason}});
}

}  // namespace onebit::experiments
