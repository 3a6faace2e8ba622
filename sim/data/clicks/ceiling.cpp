#include "sim/data/clicks/ceiling.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "device/base/text.hpp"
#include "sim/data/clicks/teacher.hpp"
#include "sim/models/auc.hpp"

namespace onebit::sim {
namespace {

/// -log(sigmoid(logit)) without overflow.
double surprise(double logit) {
  return std::log1p(std::exp(-std::abs(logit))) + std::max(-logit, 0.0);
}

}  // namespace

ClickCeiling click_ceiling(std::span<const double> logits, std::span<const std::int32_t> labels) {
  ClickCeiling ceiling;
  std::vector<float> scores;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double click = click_probability(logits[i]);
    ceiling.rate += labels[i];
    ceiling.expected += click * surprise(logits[i]) + (1.0 - click) * surprise(-logits[i]);
    ceiling.loss += surprise(labels[i] == 1 ? logits[i] : -logits[i]);
    scores.push_back(static_cast<float>(logits[i]));
  }
  const auto count = static_cast<double>(logits.size());
  for (double* mean : {&ceiling.rate, &ceiling.expected, &ceiling.loss}) *mean /= count;
  ceiling.auc = area_under_curve(scores, labels);
  return ceiling;
}

std::string describe(const ClickCeiling& ceiling) {
  std::string text = "log loss ";
  text.append(number(ceiling.loss)).append(" (").append(number(ceiling.expected)).append(" expected), AUC ");
  return text.append(number(ceiling.auc)).append(", ").append(percent_text(ceiling.rate)).append(" clicks");
}

}  // namespace onebit::sim
