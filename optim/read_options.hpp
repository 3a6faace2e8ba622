#pragma once
// Which options an optimizer and a schedule read, as their table rows say. The others change nothing.

#include <string_view>

namespace onebit::optim {

/// Names of options without "optimizer.", separated by blanks; "freeze" is the freeze policy, "freeze.lag" the lag of
/// the stability ratio, "granularity" that of an exchange. Empty: unknown optimizer.
std::string_view options_of_optimizer(std::string_view optimizer);

/// Whether an optimizer reads an option of such a name.
bool takes_option(std::string_view optimizer, std::string_view option);

/// Names of options without "schedule."; every schedule reads warmup besides. Empty also for an unknown one.
std::string_view options_of_schedule(std::string_view schedule);

}  // namespace onebit::optim
