#pragma once
// The beginning of a report: what was run, the question, the answer, and the best rates.

#include "experiments/report/report.hpp"

namespace onebit::experiments {

/// Returns a title made from the arms and the model: "adam, onebit-adam and lamb: mlp on synthetic".
std::string title_of(const Report& report);

/// Returns the header and the answer: what was run (model, data, workers, batch, steps, schedule, date, commit), the
/// question and the verdicts in one sentence each, and the table of the arms at their best rates.
std::string front_html(const Report& report, const std::string& title);

}  // namespace onebit::experiments
