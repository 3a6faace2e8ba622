#include "analysis/log/loss_window.hpp"

#include <algorithm>
#include <cmath>

namespace onebit::analysis {
namespace {

double mean_loss(const std::vector<sim::StepRow>& steps, Index first, Index last) {
  double sum = 0, count = 0;
  for (const sim::StepRow& row : steps) {
    if (row.step < first || row.step > last || std::isnan(row.loss)) continue;
    sum += row.loss;
    ++count;
  }
  return count > 0 ? sum / count : std::nan("");
}

}  // namespace

LossChange loss_change(const std::vector<sim::StepRow>& rows, Index freeze_step) {
  const Index last = rows.back().step, window = std::max<Index>(10, last / 10);
  return {.window = window,
          .before = mean_loss(rows, freeze_step - window + 1, freeze_step),
          .after = mean_loss(rows, freeze_step + 1, freeze_step + window),
          .at_end = mean_loss(rows, last - window + 1, last)};
}

}  // namespace onebit::analysis
