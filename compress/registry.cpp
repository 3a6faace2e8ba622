#include "compress/codec_options.hpp"
#include "compress/count_sketch.hpp"
#include "compress/float_codecs.hpp"
#include "compress/low_rank.hpp"
#include "compress/quantizers.hpp"
#include "compress/segment_codec.hpp"
#include "compress/sign.hpp"
#include "compress/sparse_codecs.hpp"
#include "device/error.hpp"
#include "device/text.hpp"

namespace onebit::compress {
namespace {

template <ScaleNorm norm>
std::unique_ptr<Codec> sign(const CodecConfig&) {
  return std::make_unique<SignCodec>(norm);
}

template <class Method>
std::unique_ptr<Codec> number_format(const CodecConfig& config) {
  constexpr bool contraction = requires(Method method) {
    method.delta(Index{1});
  };
  return make_segment_codec(config.name, {.deterministic = true, .contraction = contraction}, Method{});
}

std::unique_ptr<Codec> power_sgd(const CodecConfig& config) {
  require_range("rank", config.rank, 1, 1 << 16);
  return make_segment_codec(config.name, {.linear = true}, LowRank{config.rank});
}

std::unique_ptr<Codec> count_sketch(const CodecConfig& config) {
  require_range("sketch-rows", config.sketch_rows, 1, SketchShape::kMost);
  require_range("sketch-columns", config.sketch_columns, 0, Index{1} << 40);
  return make_segment_codec(config.name, {.deterministic = true, .sparse = true, .linear = true},
                            CountSketch{sent_count(config), config.sketch_rows, config.sketch_columns});
}

std::vector<CodecEntry>& table() {
  static std::vector<CodecEntry> entries = {
      {"sign-l2", "1 bit an element, scale ||x||_2/sqrt(d): 1-bit Adam's compressor", sign<ScaleNorm::l2>},
      {"sign-l1", "1 bit an element, scale ||x||_1/d: EF-signSGD's compressor", sign<ScaleNorm::l1>},
      {"sign", "1 bit an element, scale 1: majority vote where it is used both ways (signSGD, Signum)",
       sign<ScaleNorm::unit>},
      {"fp32", "the identity", number_format<Fp32>},
      {"fp16", "IEEE half precision", number_format<Fp16>},
      {"bf16", "bfloat16", number_format<Bf16>},
      {"power-sgd", "PowerSGD: factors of rank codec.rank of every matrix, all-reduced; vectors stay dense", power_sgd},
      {"count-sketch", "Sketched-SGD: codec.sketch-rows x codec.sketch-columns numbers, the codec.k largest elements",
       count_sketch},
      {"top-k", "the k largest elements, exactly (k, packing)", make_top_k},
      {"top-k-sampled", "about the k largest, by a threshold from a sample: DGC (k, sample, packing)",
       make_top_k_sampled},
      {"random-k", "k random elements, no indices sent (k, shared, scaled)", make_random_k},
      {"threshold", "all elements from a magnitude on (threshold, packing)", make_threshold},
      {"dct", "all elements from a threshold on that is the k-th largest when renewed (k, renew, packing)", make_dct},
      {"int8", "8-bit integers, one scale for every block elements (block)", make_int8},
      {"int4", "4-bit integers, one scale for every block elements (block)", make_int4},
      {"fp8-e4m3", "OCP 8-bit floats, 3 bits of mantissa, one scale for every block elements (block)", make_e4m3},
      {"fp8-e5m2", "OCP 8-bit floats, 2 bits of mantissa, one scale for every block elements (block)", make_e5m2},
      {"qsgd", "random rounding to levels of the norm of every block elements (levels, norm, block, packing)",
       make_qsgd},
      {"terngrad", "-s, 0 or s at random, s the largest magnitude over all workers (clip)", make_terngrad},
      {"natural", "random rounding to a power of two, 9 bits an element", make_natural},
      {"onebit", "1 bit an element, means of the negative and of the other numbers: 1-bit SGD's compressor",
       make_onebit},
  };
  return entries;
}

}  // namespace

const std::vector<CodecEntry>& codecs() {
  return table();
}

bool add_codec(const CodecEntry& entry) {
  table().push_back(entry);
  return true;
}

std::unique_ptr<Codec> make_codec(const CodecConfig& config) {
  std::vector<std::string_view> names;
  for (const CodecEntry& entry : codecs()) {
    if (entry.name == config.name) return entry.make(config);
    names.push_back(entry.name);
  }
  throw ConfigError("unknown codec", config.name, suggestion(config.name, names));
}

}  // namespace onebit::compress
