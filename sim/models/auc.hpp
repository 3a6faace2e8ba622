#pragma once
// Area under the ROC curve, the quality measure of click prediction.

#include <cstdint>
#include <span>

namespace onebit::sim {

/// Returns the probability that a random example of label 1 has a larger score than a random example of label 0, where
/// equal scores count one half. Exact, from ranks. Any label other than 1 counts as 0. NaN if one of the two classes is
/// missing or a score is NaN.
double area_under_curve(std::span<const float> scores, std::span<const std::int32_t> labels);

}  // namespace onebit::sim
