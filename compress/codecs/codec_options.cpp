#include "compress/codecs/codec_options.hpp"

#include <cmath>

#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::compress {

void require_option(const CodecConfig& config, bool valid, const std::string& option, const std::string& value,
                    const std::string& range) {
  if (!valid) throw ConfigError("codec option out of range", config.options + "." + option + " " + value, range);
}

void require_range(const CodecConfig& config, const std::string& option, Index value, Index low, Index high) {
  require_option(config, value >= low && value <= high, option, std::to_string(value),
                 "from " + std::to_string(low) + " to " + std::to_string(high));
}

SentCount sent_count(const CodecConfig& config) {
  constexpr double most = 0x1p53;  // above it, doubles do not represent every whole number
  const double k = config.k;
  const bool whole = k >= 1 && k <= most && k == std::floor(k);
  require_option(config, (k > 0 && k < 1) || whole, "k", shortest(k),
                 "a share in (0, 1), or a whole number of elements, at least 1");
  return whole ? SentCount{0, static_cast<Index>(k)} : SentCount{k, 0};
}

}  // namespace onebit::compress
