#include "analysis/log/log_options.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/compare/arm_names.hpp"
#include "device/base/error.hpp"
#include "optim/two_stage/freeze.hpp"

namespace onebit::analysis {

std::optional<std::string> option_of(const sim::LogHeader& header, const std::string& option) {
  const auto found = std::ranges::find_if(header.config, [&](const auto& setting) { return setting.first == option; });
  if (found == header.config.end()) return std::nullopt;
  return found->second;
}

double number_of(const sim::LogHeader& header, const std::string& option, std::optional<double> fallback) {
  const std::optional<std::string> text = option_of(header, option);
  if (!text && fallback) return *fallback;
  if (!text)
    throw ConfigError("the log lacks an option that this analysis needs", option,
                      "an older program wrote it: train the run again");
  const double value = number_in(*text);
  if (std::isnan(value)) throw ConfigError("an option in the log is not a number", option + " " + *text);
  return value;
}

bool freezes_by_tensor(const sim::LogHeader& header) {
  optim::FreezeConfig config{.policy = option_of(header, "freeze").value_or("never")};
  if (option_of(header, "freeze.scope") == "tensor") config.scope = optim::FreezeScope::tensor;
  return config.by_tensor();
}

}  // namespace onebit::analysis
