#pragma once
// Checks whether runs may share a table: they must have the same problem, measured in the same way.

#include <span>

#include "analysis/compare/arms.hpp"

namespace onebit::analysis {

/// Throws ConfigError naming what differs, with both values and both files, if two runs have different
/// - data: their hash, or an option data.* that decides results; the location of files does not count,
/// - models: the tensors, or an option model.* that decides results,
/// - evaluations: eval.split or eval.examples.
/// An option that only one of the logs has, because an older program wrote the other log, is not compared.
void require_comparable(const Run& a, const Run& b);

/// Throws ConfigError if a run is not comparable with the first one.
void require_comparable(std::span<const Run> runs);

}  // namespace onebit::analysis
