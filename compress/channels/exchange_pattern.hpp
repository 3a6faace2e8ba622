#pragma once
// Chooses the channel through which a codec's payloads are exchanged.

#include "compress/channels/channel.hpp"
#include "compress/layout/tensor.hpp"

namespace onebit::compress {

/// Configuration of the servers' codec. It has the parameters of the workers' codec, but not its packing if the two
/// codecs differ.
CodecConfig down_of(const ExchangeConfig& config);

/// Returns the configured pattern. With ExchangePattern::automatic, linear codecs are all-reduced and sparse ones
/// gathered, unless a codec for the way down is named; all others go through servers.
ExchangePattern pattern_of(const Codec& up, const ExchangeConfig& config);

/// Returns the costs of an exchange's codecs: those of the workers' codec and, on the way down, of the servers' codec.
netmodel::CodecPasses passes_of(const ExchangeConfig& config);

/// Makes the channel of pattern_of(up, config). The arguments must outlive it. Throws ConfigError, with the reason, for
/// a codec that does not fit the pattern.
std::unique_ptr<Channel> make_channel(const device::Shard& shard, const ExchangeLayout& layout,
                                      std::span<const Tensor> tensors, const Codec& up, const Codec& down,
                                      const ExchangeConfig& config);

}  // namespace onebit::compress
