#include "analysis/pricing/boundary.hpp"

#include <algorithm>

#include "compress/codecs/codec.hpp"
#include "device/base/error.hpp"
#include "device/base/text.hpp"

namespace onebit::analysis {
namespace {

using netmodel::Boundary;

constexpr const char* kDctMp = "dct-mp";
constexpr double kNumber = sizeof(float), kIndex = 4, kSector = 32;

[[noreturn]] void refuse(const std::string& codec, const std::string& why) {
  throw ConfigError("codec does not fit a boundary: " + why, "boundary.codec " + codec,
                    "use fp32, fp16, int8, int4 or dct-mp");
}

bool fits(const compress::Codec& codec) {
  const compress::Traits traits = codec.traits();
  return !codec.variable_size() && !traits.linear && !traits.shaped && !traits.shared_max;
}

/// Bytes of memory, per number, that are touched to reach a share of the numbers at scattered places: a whole sector
/// for each of them, but at most the bytes of all numbers. passes: 1 to read, 2 to read and write.
double scattered(double share, double passes) {
  return passes * std::min(share * kSector, kNumber);
}

/// DCT for model parallelism, without error feedback. The exact threshold takes the passes of top-k; both ends keep the
/// indices for the way back.
Boundary dct_mp(const HybridRules& rules) {
  compress::CodecConfig exact;
  exact.name = "top-k";
  const auto codec = compress::make_codec(exact);
  const double k = rules.density, indices = k * kIndex, values = k * rules.value_bytes;
  Boundary boundary;
  boundary.forward = values + indices;
  boundary.backward = values;
  boundary.encode = codec->passes().encode - compress::feedback_passes(codec->traits()) + boundary.forward;
  boundary.decode = boundary.forward + kNumber + scattered(k, 2);
  boundary.encode_back = indices + scattered(k, 1) + boundary.backward;
  boundary.decode_back = boundary.backward + indices + kNumber + scattered(k, 2);
  boundary.masked = true;
  return boundary;
}

Boundary shelf_codec(const HybridRules& rules, Index block) {
  compress::CodecConfig config;
  config.name = rules.codec;
  config.k = rules.density;
  const auto codec = compress::make_codec(config);
  if (codec->variable_size()) refuse(rules.codec, "how much it sends depends on the data");
  if (!fits(*codec)) refuse(rules.codec, "it needs the tensors of a model, or the other workers' numbers");
  const compress::Segment segment{.real = block, .active = block, .padded = block};
  const double bytes = static_cast<double>(codec->body_bytes(segment) + codec->scale_bytes(segment));
  const netmodel::CodecPasses passes = codec->passes();
  Boundary boundary;
  boundary.forward = boundary.backward = bytes / static_cast<double>(block);
  boundary.encode = boundary.encode_back =
      passes.encode - compress::feedback_passes(codec->traits()) + boundary.forward;
  boundary.decode = boundary.decode_back =
      boundary.forward + passes.decode + std::min(passes.scattered * boundary.forward, 2 * kNumber);
  return boundary;
}

}  // namespace

std::vector<std::string> boundary_codecs() {
  std::vector<std::string> names = {kNoCodec, kDctMp};
  for (const compress::CodecEntry& entry : compress::codecs()) {
    compress::CodecConfig config;
    config.name = entry.name;
    if (config.name != kNoCodec && fits(*compress::make_codec(config))) names.emplace_back(entry.name);
  }
  return names;
}

Boundary boundary_of(const HybridRules& rules, Index block) {
  if (!(rules.density > 0 && rules.density < 1))
    throw ConfigError("option out of range", "boundary.k " + shortest(rules.density), "between 0 and 1");
  Boundary boundary;
  if (rules.codec == kDctMp) {
    boundary = dct_mp(rules);
  } else if (rules.codec != kNoCodec) {
    boundary = shelf_codec(rules, block);
  }
  boundary.forward /= rules.model_ratio;
  boundary.backward /= rules.model_ratio;
  return boundary;
}

}  // namespace onebit::analysis
