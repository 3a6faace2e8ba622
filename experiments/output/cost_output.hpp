#pragma once
// Costs of a freeze for people and for programs.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/freeze/freeze_validation.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

/// Mean and interval; the number of seeds that diverged where there is none.
std::string cost_text(const analysis::FreezeCost& cost);
/// The verdict, how many seeds would decide it, and why.
std::string verdict_text(const analysis::FreezeCost& cost);
/// What costs are counted in. reference: what excess is counted from, in words.
std::string measure_text(const analysis::FreezeCriterion& criterion, const std::string& reference);
/// "seed 1", "seeds 1, 2".
std::string seeds_text(const std::vector<std::uint32_t>& seeds);
Json cost_json(const analysis::FreezeCost& cost);

}  // namespace onebit::experiments
