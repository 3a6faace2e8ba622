#pragma once
// Which channel a codec is exchanged through.

#include "compress/channels/channel.hpp"
#include "compress/layout/tensor.hpp"

namespace onebit::compress {

/// The servers' codec: parameters as those of the workers', without a packing where it is another one.
CodecConfig down_of(const ExchangeConfig& config);

/// The pattern that the configuration asks for. Where it leaves the choice (ExchangePattern::automatic), linear codecs
/// are all-reduced and sparse ones gathered, unless a codec for the way down is named; all others go through servers.
ExchangePattern pattern_of(const Codec& up, const ExchangeConfig& config);

/// The channel of pattern_of(up, config). What is handed over outlives it. Throws ConfigError, with the reason, for a
/// codec that does not fit the pattern.
std::unique_ptr<Channel> make_channel(const device::Shard& shard, const ExchangeLayout& layout,
                                      std::span<const Tensor> tensors, const Codec& up, const Codec& down,
                                      const ExchangeConfig& config);

}  // namespace onebit::compress
