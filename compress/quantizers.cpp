#include "compress/quantizers.hpp"

#include "compress/few_bits.hpp"
#include "compress/qsgd.hpp"
#include "compress/scaled_codecs.hpp"
#include "compress/segment_codec.hpp"

namespace onebit::compress {
namespace {

[[noreturn]] void refuse(const std::string& option, const std::string& value, const std::string& range) {
  throw ConfigError("codec option out of range", "codec." + option + " " + value, range);
}

Index block_of(const CodecConfig& config) {
  if (config.block < 0) refuse("block", std::to_string(config.block), "0 (the whole segment) or more");
  return config.block;
}

template <class Number>
std::unique_ptr<Codec> make_scaled(const CodecConfig& config) {
  return make_segment_codec(config.name, {.deterministic = true, .contraction = true},
                            BlockScaled<Number>{block_of(config)});
}

template <class Packing>
std::unique_ptr<Codec> make_qsgd_with(const CodecConfig& config) {
  return make_segment_codec(config.name, {.unbiased = true},
                            Qsgd<Packing>{config.levels, block_of(config), config.norm == "max"});
}

}  // namespace

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
  if (config.levels < 1 || config.levels > 32767) refuse("levels", std::to_string(config.levels), "from 1 to 32767");
  if (config.norm != "l2" && config.norm != "max") refuse("norm", config.norm, "l2 or max");
  if (config.packing == "none") return make_qsgd_with<FixedLevels>(config);
  if (config.packing == "elias") return make_qsgd_with<EliasLevels>(config);
  refuse("packing", config.packing, "none or elias");
}

std::unique_ptr<Codec> make_terngrad(const CodecConfig& config) {
  if (!(config.clip >= 0) || !std::isfinite(config.clip))
    refuse("clip", std::to_string(config.clip), "0 (none) or more");
  return make_segment_codec(config.name, {.unbiased = config.clip == 0, .shared_max = true}, TernGrad{config.clip});
}

std::unique_ptr<Codec> make_natural(const CodecConfig& config) {
  return make_segment_codec(config.name, {.unbiased = true}, Natural{});
}

std::unique_ptr<Codec> make_onebit(const CodecConfig& config) {
  return make_segment_codec(config.name, {.deterministic = true, .contraction = true}, TwoMeans{});
}

}  // namespace onebit::compress
