#pragma once
// The options that an optimizer or a schedule reads, as listed in its row of registry.cpp or schedule.cpp. Other
// options have no effect.

#include <string_view>

namespace onebit::optim {

/// Names of the options that an optimizer reads, without "optimizer.", separated by spaces; "freeze" is the freeze
/// policy, "freeze.lag" the lag of the stability ratio, "granularity" the granularity of an exchange. Empty for an
/// unknown optimizer.
std::string_view options_of_optimizer(std::string_view optimizer);

/// Whether an optimizer reads an option of this name.
bool takes_option(std::string_view optimizer, std::string_view option);

/// Names of the options that a schedule reads, without "schedule.", separated by spaces; every schedule also reads
/// warmup. Empty if there are none, and for an unknown schedule.
std::string_view options_of_schedule(std::string_view schedule);

}  // namespace onebit::optim
