#include <algorithm>
#include <cmath>

#include "compress/channels/count_sketch.hpp"
#include "compress/channels/low_rank.hpp"
#include "compress/channels/power_sgd.hpp"
#include "compress/channels/sketch_mean.hpp"
#include "compress/codecs/codec_options.hpp"
#include "compress/codecs/quantized/float_codecs.hpp"
#include "compress/codecs/quantized/quantizers.hpp"
#include "compress/codecs/quantized/sign.hpp"
#include "compress/codecs/segment_codec.hpp"
#include "compress/codecs/sparse/sparse_codecs.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::compress {
namespace {

template <ScaleNorm norm>
std::unique_ptr<Codec> sign(const CodecConfig&) {
  return std::make_unique<SignCodec>(norm);
}

template <class Method, netmodel::WireType wire = netmodel::WireType::packed>
std::unique_ptr<Codec> number_format(const CodecConfig& config) {
  constexpr bool contraction = requires(Method method) {
    method.delta(Index{1});
  };
  return make_segment_codec(config.name, {.deterministic = true, .contraction = contraction, .wire = wire}, Method{});
}

std::unique_ptr<Codec> power_sgd(const CodecConfig& config) {
  require_range(config, "rank", config.rank, 1, 1 << 16);
  require_option(config, config.min_rate >= 0 && std::isfinite(config.min_rate), "min-rate", shortest(config.min_rate),
                 "finite, at least 0");
  return make_segment_codec(config.name, {.linear = true, .shaped = true}, LowRank{config.rank, config.min_rate});
}

std::unique_ptr<Codec> count_sketch(const CodecConfig& config) {
  require_range(config, "sketch-rows", config.sketch_rows, 1, SketchShape::kMost);
  require_range(config, "sketch-columns", config.sketch_columns, 0, Index{1} << 40);
  return make_segment_codec(config.name, {.deterministic = true, .sparse = true, .linear = true},
                            CountSketch{sent_count(config), config.sketch_rows, config.sketch_columns});
}

std::unique_ptr<Channel> power_sgd_mean(const device::Shard& shard, const ExchangeLayout& layout,
                                        std::span<const Tensor> tensors, const ExchangeConfig& config) {
  return std::make_unique<PowerSgdMean>(shard, layout, tensors, config);
}

std::unique_ptr<Channel> sketch_mean(const device::Shard& shard, const ExchangeLayout& layout, std::span<const Tensor>,
                                     const ExchangeConfig& config) {
  return std::make_unique<SketchMean>(
      shard, layout, CountSketch{sent_count(config.up), config.up.sketch_rows, config.up.sketch_columns, config.seed});
}

/// A row of the table: a codec, and the options that it reads (compress/codecs/codec_options.hpp).
struct Row {
  CodecEntry entry;
  std::string_view options;
};

constexpr Row kRows[] = {
    {{"sign-l2", "1 bit per element, scale ||x||_2/sqrt(d): 1-bit Adam's compressor", sign<ScaleNorm::l2>}, ""},
    {{"sign-l1", "1 bit per element, scale ||x||_1/d: EF-signSGD's compressor", sign<ScaleNorm::l1>}, ""},
    {{"sign", "1 bit per element, scale 1; a majority vote if used both ways (signSGD, Signum)", sign<ScaleNorm::unit>},
     ""},
    {{"sign-block", "1 bit per element, scale ||x||_2/sqrt(d) for every block of d elements (block)", make_sign_block},
     "block"},
    {{"fp32", "IEEE single precision, lossless", number_format<Fp32, netmodel::WireType::fp32>}, ""},
    {{"fp16", "IEEE half precision", number_format<Fp16>}, ""},
    {{"bf16", "bfloat16", number_format<Bf16>}, ""},
    {{"power-sgd",
      "PowerSGD: low-rank factors of every matrix, all-reduced; vectors stay dense (rank, warm-start, min-rate)",
      power_sgd, power_sgd_mean},
     "rank warm-start min-rate"},
    {{"count-sketch", "Sketched-SGD: the k largest elements, found by a count sketch (k, sketch-rows, sketch-columns)",
      count_sketch, sketch_mean},
     "k sketch-rows sketch-columns"},
    {{"top-k", "the k largest elements, exactly (k, packing)", make_top_k}, "k packing"},
    {{"top-k-sampled", "about the k largest elements, by a threshold from a sample, as in DGC (k, sample, packing)",
      make_top_k_sampled},
     "k sample packing"},
    {{"random-k", "k random elements, no indices sent (k, shared, scaled)", make_random_k}, "k shared scaled"},
    {{"threshold", "all elements of at least a given magnitude (threshold, packing)", make_threshold},
     "threshold packing"},
    {{"dct", "all elements at or above a threshold that is periodically reset to the k-th largest (k, renew, packing)",
      make_dct},
     "k renew packing"},
    {{"int8", "8-bit integers, one scale per block of elements (block)", make_int8}, "block"},
    {{"int4", "4-bit integers, one scale per block of elements (block)", make_int4}, "block"},
    {{"fp8-e4m3", "OCP 8-bit floats, 3 mantissa bits, one scale per block of elements (block)", make_e4m3}, "block"},
    {{"fp8-e5m2", "OCP 8-bit floats, 2 mantissa bits, one scale per block of elements (block)", make_e5m2}, "block"},
    {{"qsgd", "random rounding to levels relative to the norm of a block (levels, norm, block, packing)", make_qsgd},
     "levels norm block packing"},
    {{"terngrad", "random rounding to -s, 0 or s, where s is the largest magnitude over all workers (clip)",
      make_terngrad},
     "clip"},
    {{"natural", "random rounding to a power of two, 9 bits per element", make_natural}, ""},
    {{"onebit",
      "1 bit per element, decoded to the mean of the negative or of the other numbers: 1-bit SGD's compressor",
      make_onebit},
     ""},
};

std::vector<CodecEntry>& table() {
  static std::vector<CodecEntry> entries = [] {
    std::vector<CodecEntry> all;
    for (const Row& row : kRows) all.push_back(row.entry);
    return all;
  }();
  return entries;
}

}  // namespace

const std::vector<CodecEntry>& codecs() {
  return table();
}

std::optional<std::string_view> options_of_codec(std::string_view codec) {
  for (const auto& [entry, options] : kRows) {
    if (entry.name == codec) return options;
  }
  return std::nullopt;
}

bool is_codec_option(std::string_view option) {
  return std::ranges::any_of(kRows, [&](const auto& row) { return has_word(row.options, option); });
}

bool add_codec(const CodecEntry& entry) {
  table().push_back(entry);
  return true;
}

const CodecEntry& codec_entry(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CodecEntry& entry : codecs()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw ConfigError("unknown codec", std::string(name), suggestion(name, names));
}

std::unique_ptr<Codec> make_codec(const CodecConfig& config) {
  return codec_entry(config.name).make(config);
}

}  // namespace onebit::compress
