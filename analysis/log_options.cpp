#include "analysis/log_options.hpp"

#include <algorithm>
#include <charconv>

#include "device/error.hpp"

namespace onebit::analysis {

std::optional<std::string> option_of(const sim::LogHeader& header, const std::string& option) {
  const auto found = std::ranges::find_if(header.config, [&](const auto& setting) { return setting.first == option; });
  if (found == header.config.end()) return std::nullopt;
  return found->second;
}

double number_of(const sim::LogHeader& header, const std::string& option, std::optional<double> fallback) {
  const std::optional<std::string> text = option_of(header, option);
  if (!text && fallback) return *fallback;
  if (!text) throw ConfigError("log lacks an option that this analysis needs", option, "it is of an older program");
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size())
    throw ConfigError("an option in the log is not a number", option + " " + *text);
  return value;
}

}  // namespace onebit::analysis
