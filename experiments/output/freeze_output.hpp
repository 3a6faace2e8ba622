#pragma once
// The answer of `onebit freeze`, on one screen and as JSON.

#include <iosfwd>

#include "experiments/study/freeze_answer.hpp"
#include "experiments/output/output.hpp"

namespace onebit::experiments {

void print_answer(const FreezeAnswer& answer, std::ostream& out);
Json to_json(const FreezeAnswer& answer);

}  // namespace onebit::experiments
