#pragma once
// How well clicks can be predicted by someone who knows the rule by which they were drawn.

#include <cstdint>
#include <span>
#include <string>

#include "device/base/types.hpp"

namespace onebit::sim {

/// Quality of the true probabilities on some examples. No model can be expected to do better.
struct ClickCeiling {
  double rate = 0.0;      ///< share of clicks
  double expected = 0.0;  ///< log loss in expectation over the labels: mean entropy of a label
  double loss = 0.0;      ///< log loss on the labels that were drawn
  double auc = 0.0;       ///< area under the ROC curve on the labels that were drawn
};

/// Returns the quality of the true probabilities. logits: the true logits. labels: 1 is a click. Neither may be empty.
ClickCeiling click_ceiling(std::span<const double> logits, std::span<const std::int32_t> labels);

/// Describes a ceiling: "log loss 0.4572 (0.4561 expected), AUC 0.8013, 25.6% clicks".
std::string describe(const ClickCeiling& ceiling);

}  // namespace onebit::sim
