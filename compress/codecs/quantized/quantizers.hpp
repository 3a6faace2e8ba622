#pragma once
// Makes the quantising codecs of the table.

#include "compress/codecs/codec.hpp"

namespace onebit::compress {

/// Makes a codec. Each function of this file throws ConfigError for a parameter out of range.
std::unique_ptr<Codec> make_sign_block(const CodecConfig& config);
std::unique_ptr<Codec> make_int8(const CodecConfig& config);
std::unique_ptr<Codec> make_int4(const CodecConfig& config);
std::unique_ptr<Codec> make_e4m3(const CodecConfig& config);
std::unique_ptr<Codec> make_e5m2(const CodecConfig& config);
std::unique_ptr<Codec> make_qsgd(const CodecConfig& config);
std::unique_ptr<Codec> make_terngrad(const CodecConfig& config);
std::unique_ptr<Codec> make_natural(const CodecConfig& config);
std::unique_ptr<Codec> make_onebit(const CodecConfig& config);

}  // namespace onebit::compress
