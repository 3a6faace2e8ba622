#include "analysis/log/log_options.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/compare/arm_names.hpp"
#include "compress/channels/exchange_pattern.hpp"
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
  if (std::isnan(value)) {
    throw ConfigError("an option in the log is not a number", option + " " + *text,
                      "the log may be damaged, or written by another version: see 'onebit inspect'");
  }
  return value;
}

bool is_replay(const sim::LogHeader& header) {
  return option_of(header, std::string(kReplayedTrace)).has_value();
}

bool is_compact(const sim::LogReader& log) {
  return is_replay(log.header()) && log.committed_rows() > 0 && log.committed_rows("traffic") == 0;
}

netmodel::CodecPasses codec_passes(const sim::LogHeader& header) {
  compress::ExchangeConfig config;
  config.up.name = option_of(header, "codec").value_or(config.up.name);
  config.down = option_of(header, "codec.down").value_or("");
  const auto known = [](const std::string& name) {
    return name.empty() || std::ranges::count(compress::codecs(), name, &compress::CodecEntry::name) > 0;
  };
  if (!known(config.up.name) || !known(config.down)) return {};
  config.up.sample = number_of(header, "codec.sample", config.up.sample);
  config.up.sketch_rows = static_cast<Index>(number_of(header, "codec.sketch-rows", 5));
  return compress::passes_of(config);
}

bool freezes_by_tensor(const sim::LogHeader& header) {
  optim::FreezeConfig config{.policy = option_of(header, "freeze").value_or("never")};
  if (option_of(header, "freeze.scope") == "tensor") config.scope = optim::FreezeScope::tensor;
  return config.by_tensor();
}

}  // namespace onebit::analysis
