#pragma once
// Traffic and cost of the codec at the boundary between embedding tables and dense layers.

#include <vector>

#include "analysis/log/hybrid_rules.hpp"
#include "netmodel/step/hybrid.hpp"

namespace onebit::analysis {

/// Names of the codecs that a boundary may have, kNoCodec first.
std::vector<std::string> boundary_codecs();

/// Returns the boundary that the rules describe. `block`: how many numbers one GPU encodes together and sends to
/// another GPU. Throws ConfigError for an unknown codec, for a codec that a boundary cannot use (because its volume
/// depends on the data or it needs the numbers of other GPUs), and for a density that is not between 0 and 1.
netmodel::Boundary boundary_of(const HybridRules& rules, Index block);

}  // namespace onebit::analysis
