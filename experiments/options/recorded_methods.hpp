#pragma once
// Methods and hyper-parameters of other projects, translated into options.

#include <map>
#include <string>

#include "experiments/options/options.hpp"
#include "sim/run/trace.hpp"

namespace onebit::experiments {

using Attributes = std::map<std::string, sim::GradientTrace::Attribute>;

/// A recorded case as options.
struct RecordedCase {
  Settings settings;
  double penalty = 0;  ///< multiple of the weights added to every gradient, as torch.optim does with weight_decay
};

/// Translates a recorded case into options. Throws ConfigError, with the case's name, for a method that the program
/// does not have or has in another form, and for a hyper-parameter without an option.
RecordedCase recorded_case(const std::string& name, const Attributes& attributes);

}  // namespace onebit::experiments
