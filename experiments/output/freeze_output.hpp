#pragma once
// Output of `onebit freeze`, as a short text and as JSON.

#include <iosfwd>

#include "experiments/output/output.hpp"
#include "experiments/study/freeze_answer.hpp"

namespace onebit::experiments {

void print_answer(const FreezeAnswer& answer, std::ostream& out);
Json to_json(const FreezeAnswer& answer);

}  // namespace onebit::experiments
