#pragma once
// Ranges of codec options, and who reads which.

#include <optional>
#include <string>
#include <string_view>

#include "compress/channels/exchange_config.hpp"
#include "compress/codecs/sparse/sent_count.hpp"

namespace onebit::compress {

/// Throws ConfigError naming codec.<option> and its value.
void require_option(bool valid, const std::string& option, const std::string& value, const std::string& range);
void require_range(const std::string& option, Index value, Index low, Index high);

/// codec.k: a share in (0, 1) or a whole number. Throws ConfigError.
SentCount sent_count(const CodecConfig& config);

/// Names of the options under "codec." that a codec reads, separated by blanks, as its table row says: the others
/// change nothing. None for a codec that is not of the table.
std::optional<std::string_view> options_of_codec(std::string_view codec);

}  // namespace onebit::compress
