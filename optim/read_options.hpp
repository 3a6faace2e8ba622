#pragma once
// The options that an optimizer or a schedule reads, as its row in registry.cpp or schedule.cpp says. Other options
// have no effect.

#include <string_view>

namespace onebit::optim {

/// Names of options without "optimizer.", separated by spaces; "freeze" is the freeze policy, "freeze.lag" the lag of
/// the stability ratio, "granularity" the granularity of an exchange. Empty for an unknown optimizer.
std::string_view options_of_optimizer(std::string_view optimizer);

/// Whether an optimizer reads an option of this name.
bool takes_option(std::string_view optimizer, std::string_view option);

/// Names of options without "schedule.", separated by spaces; every schedule also reads warmup. Also empty for an
/// unknown schedule.
std::string_view options_of_schedule(std::string_view schedule);

}  // namespace onebit::optim
