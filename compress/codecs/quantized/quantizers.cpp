#include "compress/codecs/quantized/quantizers.hpp"

#include <cmath>

#include "compress/codecs/codec_options.hpp"
#include "compress/codecs/quantized/few_bits.hpp"
#include "compress/codecs/quantized/qsgd.hpp"
#include "compress/codecs/quantized/scaled_codecs.hpp"
#include "compress/codecs/segment_codec.hpp"
#include "device/base/text.hpp"

namespace onebit::compress {
namespace {

Index block_of(const CodecConfig& config) {
  require_option(config, config.block >= 0, "block", std::to_string(config.block), "0 (the whole segment) or more");
  return config.block;
}

template <class Number>
std::unique_ptr<Codec> make_scaled(const CodecConfig& config) {
  return make_segment_codec(config.name, {.deterministic = true, .contraction = true},
                            BlockScaled<Number>{block_of(config)});
}

template <class Packing>
std::unique_ptr<Codec> make_qsgd_with(const CodecConfig& config) {
  return make_segment_codec(config.name, {.unbiased = true, .expanding = true},
                            Qsgd<Packing>{config.levels, block_of(config), config.norm == "max"});
}

}  // namespace

std::unique_ptr<Codec> make_sign_block(const CodecConfig& config) {
  return make_segment_codec(config.name, {.deterministic = true, .wire = netmodel::WireType::bits},
                            BlockSigns{block_of(config)});
}

std::unique_ptr<Codec> make_int8(const CodecConfig& config) {
  return make_scaled<Integer<8>>(config);
}

std::unique_ptr<Codec> make_int4(const CodecConfig& config) {
  return make_scaled<Integer<4>>(config);
}

std::unique_ptr<Codec> make_e4m3(const CodecConfig& config) {
  return make_scaled<E4m3>(config);
}

std::unique_ptr<Codec> make_e5m2(const CodecConfig& config) {
  return make_scaled<E5m2>(config);
}

std::unique_ptr<Codec> make_qsgd(const CodecConfig& config) {
  require_range(config, "levels", config.levels, 1, 32767);
  require_option(config, config.norm == "l2" || config.norm == "max", "norm", config.norm, "l2 or max");
  require_option(config, config.packing == "none" || config.packing == "elias", "packing", config.packing,
                 "none or elias");
  if (config.packing == "elias") return make_qsgd_with<EliasLevels>(config);
  return make_qsgd_with<FixedLevels>(config);
}

std::unique_ptr<Codec> make_terngrad(const CodecConfig& config) {
  require_option(config, config.clip >= 0 && std::isfinite(config.clip), "clip", shortest(config.clip),
                 "0 (no clipping) or more");
  const Traits traits{.unbiased = config.clip == 0, .expanding = true, .shared_max = true};
  return make_segment_codec(config.name, traits, TernGrad{config.clip});
}

std::unique_ptr<Codec> make_natural(const CodecConfig& config) {
  return make_segment_codec(config.name, {.unbiased = true}, Natural{});
}

std::unique_ptr<Codec> make_onebit(const CodecConfig& config) {
  return make_segment_codec(config.name, {.deterministic = true, .contraction = true}, TwoMeans{});
}

}  // namespace onebit::compress
