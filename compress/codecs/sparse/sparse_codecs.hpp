#pragma once
// Makes the sparse codecs of the table. Each throws ConfigError for a parameter out of range.

#include "compress/codecs/codec.hpp"

namespace onebit::compress {

std::unique_ptr<Codec> make_top_k(const CodecConfig& config);
std::unique_ptr<Codec> make_top_k_sampled(const CodecConfig& config);
std::unique_ptr<Codec> make_random_k(const CodecConfig& config);
std::unique_ptr<Codec> make_threshold(const CodecConfig& config);
std::unique_ptr<Codec> make_dct(const CodecConfig& config);

}  // namespace onebit::compress
