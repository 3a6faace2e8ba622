#pragma once
// Output of `onebit freeze`, as a short text and as JSON.

#include <iosfwd>

#include "experiments/output/output.hpp"
#include "experiments/study/freeze_answer.hpp"

namespace onebit::experiments {

/// Prints the answer. later: a command that tries later steps, printed if the chosen step costs too much.
void print_answer(const FreezeAnswer& answer, const std::string& later, std::ostream& out);
Json to_json(const FreezeAnswer& answer);

}  // namespace onebit::experiments
