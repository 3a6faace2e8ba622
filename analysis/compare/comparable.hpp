#pragma once
// Whether runs may stand in one table: one problem, measured in one way.

#include <span>

#include "analysis/compare/arms.hpp"

namespace onebit::analysis {

/// Throws ConfigError naming what differs, both values and both files, where two runs have other
/// - data: their hash, or an option data.* that decides results; where files lie does not count,
/// - models: the tensors, or an option model.* that decides results,
/// - evaluations: eval.split or eval.examples.
/// An option that only one of the logs has, being of an older program, is not compared.
void require_comparable(const Run& a, const Run& b);

/// Each with the first.
void require_comparable(std::span<const Run> runs);

}  // namespace onebit::analysis
