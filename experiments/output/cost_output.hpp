#pragma once
// Costs of a freeze for people and for programs.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns mean and interval; where there is none, the number of seeds that diverged.
std::string cost_text(const analysis::FreezeCost& cost);
/// Returns the verdict, the number of seeds that would decide it, and the reason.
std::string verdict_text(const analysis::FreezeCost& cost);
/// Returns the unit of costs in words. reference: the loss from which excess is counted, in words.
std::string measure_text(const analysis::FreezeCriterion& criterion, const std::string& reference);
/// Returns "seed 1" or "seeds 1, 2".
std::string seeds_text(const std::vector<std::uint32_t>& seeds);
Json cost_json(const analysis::FreezeCost& cost);

}  // namespace onebit::experiments
