#pragma once
// Final values of a run's options, out of its log.

#include <optional>
#include <string>

#include "sim/log/schema.hpp"

namespace onebit::analysis {

/// None where the log's program did not know the option.
std::optional<std::string> option_of(const sim::LogHeader& header, const std::string& option);

/// The same as a number. Throws ConfigError where it is none, or unknown and without a fallback.
double number_of(const sim::LogHeader& header, const std::string& option, std::optional<double> fallback = {});

/// Whether tensors freeze one by one (optim/two_stage/tensor_freeze.hpp): the option says nothing where no rule freezes.
bool freezes_by_tensor(const sim::LogHeader& header);

}  // namespace onebit::analysis
