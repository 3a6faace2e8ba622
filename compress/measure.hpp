#pragma once
// What channels measure of their last exchange.

#include "compress/channel.hpp"

namespace onebit::compress {

/// Squared norm of every segment of one encoded row over `chunks` of a side: of e, or with `decoded` of y.
std::vector<double> squares_of(const device::Device& device, const Side& side, const device::Chunks& chunks,
                               const float* errors, const float* decoded);

/// Of the rows of this device's workers, all decoded to the same vector [parameters].
std::vector<CodecSquares> row_squares(const device::Shard& shard, const ExchangeLayout& layout,
                                      const device::Buffer<float>& errors, const float* decoded);

/// Of every row of a payload, over real elements.
std::vector<CodecSquares> row_squares(const device::Device& device, const ExchangeLayout& layout, const Codec& codec,
                                      const Side& side, const Payload& payload, const device::Buffer<float>& errors);

}  // namespace onebit::compress
