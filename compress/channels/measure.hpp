#pragma once
// What channels measure of their last exchange.

#include "compress/channels/channel.hpp"

namespace onebit::compress {

/// Rows of floats, each `stride` after the one before; 0: all the same.
struct FloatRows {
  const float* values;
  Index stride;
};

/// Squared norms of e over `chunks` of a side: [rows x segments].
device::Future<double> error_squares(const device::Device& device, const SegmentTable& table,
                                     const device::Chunks& chunks, Index rows, FloatRows errors);

/// Squared norms of the y = e + C[y] that were encoded, over real elements: [rows x segments]. decoded: [parameters].
device::Future<double> encoded_squares(const device::Device& device, const SegmentTable& table, Index rows,
                                       FloatRows errors, FloatRows decoded);

/// Of the rows of this device's workers, all decoded to the same vector [parameters].
std::vector<CodecSquares> row_squares(const device::Shard& shard, const ExchangeLayout& layout,
                                      const device::Buffer<float>& errors, const float* decoded);

/// Of every row of a payload, over real elements.
std::vector<CodecSquares> row_squares(const device::Device& device, const ExchangeLayout& layout, const Codec& codec,
                                      const SegmentTable& table, const Payload& payload, const StoredErrors& errors);

}  // namespace onebit::compress
