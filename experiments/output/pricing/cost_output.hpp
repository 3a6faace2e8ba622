#pragma once
// Costs of a freeze, as text and as JSON.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Returns the mean and its interval, or the number of diverged seeds if there are any.
std::string cost_text(const analysis::FreezeCost& cost);
/// Returns the verdict, with its reason or the number of further seeds that would settle it, if there is either.
std::string verdict_text(const analysis::FreezeCost& cost);
/// Returns the unit of costs in words. reference: the loss above which the excess is counted, in words.
std::string measure_text(const analysis::FreezeCriterion& criterion, const std::string& reference);
/// Returns "seed 1" or "seeds 1, 2".
std::string seeds_text(const std::vector<std::uint32_t>& seeds);
Json cost_json(const analysis::FreezeCost& cost);

}  // namespace onebit::experiments
