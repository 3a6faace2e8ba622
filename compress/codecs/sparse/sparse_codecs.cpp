#include "compress/codecs/sparse/sparse_codecs.hpp"

#include <limits>

#include "compress/codecs/codec_options.hpp"
#include "compress/codecs/segment_codec.hpp"
#include "compress/codecs/sparse/random_k.hpp"
#include "compress/codecs/sparse/threshold.hpp"
#include "compress/codecs/sparse/top_k.hpp"
#include "device/base/text.hpp"

namespace onebit::compress {
namespace {

bool gaps(const CodecConfig& config) {
  require_option(config, config.packing == "none" || config.packing == "delta", "packing", config.packing,
                 "none or delta");
  return config.packing == "delta";
}

/// The payload of codecs whose receiver does not know the number of elements.
SparsePayload counted(const CodecConfig& config) {
  return {true, gaps(config)};
}

}  // namespace

std::unique_ptr<Codec> make_top_k(const CodecConfig& config) {
  const Traits traits{.deterministic = true, .contraction = true, .sparse = true};
  const SentCount count = sent_count(config);
  if (gaps(config)) return make_segment_codec(config.name, traits, TopK<true>{count});
  return make_segment_codec(config.name, traits, TopK<false>{count});
}

std::unique_ptr<Codec> make_top_k_sampled(const CodecConfig& config) {
  require_option(config, config.sample > 0 && config.sample <= 1, "sample", shortest(config.sample), "in (0, 1]");
  const TopKSampled method{sent_count(config), config.sample, counted(config)};
  return make_segment_codec(config.name, {.contraction = true, .sparse = true}, method);
}

std::unique_ptr<Codec> make_random_k(const CodecConfig& config) {
  const SentCount count = sent_count(config);
  const Traits traits{.unbiased = config.scaled, .expanding = config.scaled, .sparse = true};
  if (config.scaled) return make_segment_codec(config.name, traits, RandomK<true>{count, config.shared});
  return make_segment_codec(config.name, traits, RandomK<false>{count, config.shared});
}

std::unique_ptr<Codec> make_threshold(const CodecConfig& config) {
  const auto largest = static_cast<double>(std::numeric_limits<float>::max());
  require_option(config, config.threshold >= 0 && config.threshold <= largest, "threshold", shortest(config.threshold),
                 "at least 0 and finite in single precision");
  const Threshold method{static_cast<float>(config.threshold), counted(config)};
  return make_segment_codec(config.name, {.deterministic = true, .sparse = true}, method);
}

std::unique_ptr<Codec> make_dct(const CodecConfig& config) {
  require_option(config, config.renew >= 1, "renew", std::to_string(config.renew), "at least 1 step");
  const Dct method{sent_count(config), config.renew, counted(config)};
  return make_segment_codec(config.name, {.deterministic = true, .sparse = true}, method);
}

}  // namespace onebit::compress
