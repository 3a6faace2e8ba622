#include "compress/sign.hpp"
#include "device/error.hpp"
#include "device/text.hpp"

namespace onebit::compress {

void Codec::serve(const device::Device& device, const Side& chunks, const Codec& up, const Payload& arrived,
                  float* errors, Index stride, Payload& payload) const {
  up.add_mean(device, chunks, arrived, errors);
  encode(device, chunks, {0, 1}, {}, errors, stride, payload);
}

const std::vector<CodecEntry>& codecs() {
  static const std::vector<CodecEntry> table = {
      {"sign-l2", "1 bit an element, scale ||x||_2/sqrt(d): 1-bit Adam's compressor",
       [](const CodecConfig&) { return std::unique_ptr<Codec>(new SignCodec(ScaleNorm::l2)); }},
      {"sign-l1", "1 bit an element, scale ||x||_1/d: EF-signSGD's compressor",
       [](const CodecConfig&) { return std::unique_ptr<Codec>(new SignCodec(ScaleNorm::l1)); }},
  };
  return table;
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
