#pragma once
// Checks of codec options, and which options each codec reads.

#include <optional>
#include <string>
#include <string_view>

#include "compress/channels/exchange_config.hpp"
#include "compress/codecs/sparse/sent_count.hpp"

namespace onebit::compress {

/// Throws ConfigError if `valid` is false. The error names the option (such as codec.k), its value and its range.
void require_option(const CodecConfig& config, bool valid, const std::string& option, const std::string& value,
                    const std::string& range);
void require_range(const CodecConfig& config, const std::string& option, Index value, Index low, Index high);

/// Reads codec.k: a share in (0, 1) or a whole number of elements. Throws ConfigError if it is neither.
SentCount sent_count(const CodecConfig& config);

/// Names of the options under "codec." that a codec reads, separated by spaces, as given in its row of the table of
/// codecs. Other options have no effect. Empty for an unknown codec.
std::optional<std::string_view> options_of_codec(std::string_view codec);

/// Whether any codec reads an option of this name, such as "k".
bool is_codec_option(std::string_view option);

}  // namespace onebit::compress
