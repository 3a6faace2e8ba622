#pragma once
// Ranges of codec options.

#include <string>

#include "compress/exchange_config.hpp"
#include "compress/sent_count.hpp"

namespace onebit::compress {

/// Throws ConfigError naming codec.<option> and its value.
void require_option(bool valid, const std::string& option, const std::string& value, const std::string& range);
void require_range(const std::string& option, Index value, Index low, Index high);

/// codec.k: a share in (0, 1) or a whole number. Throws ConfigError.
SentCount sent_count(const CodecConfig& config);

}  // namespace onebit::compress
