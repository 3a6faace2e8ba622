#pragma once
// The options that an optimizer or a schedule reads, as its table row says. Other options change nothing.

#include <string_view>

namespace onebit::optim {

/// Names of options without "optimizer.", separated by blanks; "freeze" is the freeze policy, "freeze.lag" the lag of
/// the stability ratio, "granularity" that of an exchange. Empty: unknown optimizer.
std::string_view options_of_optimizer(std::string_view optimizer);

/// Whether an optimizer reads an option of this name.
bool takes_option(std::string_view optimizer, std::string_view option);

/// Names of options without "schedule.", separated by blanks; every schedule also reads warmup. Empty for an unknown
/// schedule, too.
std::string_view options_of_schedule(std::string_view schedule);

}  // namespace onebit::optim
