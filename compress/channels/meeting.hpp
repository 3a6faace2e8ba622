#pragma once
// Which channel a codec is exchanged through.

#include "compress/channels/channel.hpp"
#include "compress/layout/tensor.hpp"

namespace onebit::compress {

/// The servers' codec: parameters as those of the workers', without a packing where it is another one.
CodecConfig down_of(const ExchangeConfig& config);

/// How vectors meet: Meeting::automatic: linear codecs are all-reduced, sparse ones gathered, unless a codec for the
/// way down is named; everything else meets at servers.
Meeting meeting_of(const Codec& up, const ExchangeConfig& config);

/// Throws ConfigError for a codec that does not fit the meeting, with the reason.
/// What is handed over outlives the channel.
std::unique_ptr<Channel> make_channel(const device::Shard& shard, const ExchangeLayout& layout,
                                      std::span<const Tensor> tensors, const Codec& up, const Codec& down,
                                      const ExchangeConfig& config);

}  // namespace onebit::compress
