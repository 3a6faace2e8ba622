#pragma once
// Measurements of a channel's last exchange.

#include "compress/channels/channel.hpp"

namespace onebit::compress {

/// Rows of floats, `stride` elements apart; with stride 0, all rows are the same.
struct FloatRows {
  const float* values;
  Index stride;
};

/// Squared norms of the errors over `chunks` of a table, [rows x segments].
device::Future<double> error_squares(const device::Device& device, const SegmentTable& table,
                                     const device::Chunks& chunks, Index rows, FloatRows errors);

/// Squared norms of the encoded y = e + C[y] over real elements, [rows x segments]. decoded: rows of [parameters].
device::Future<double> encoded_squares(const device::Device& device, const SegmentTable& table, Index rows,
                                       FloatRows errors, FloatRows decoded);

/// For each of this device's workers: squared norms of its error e and of e + decoded, over real elements. `decoded`
/// [parameters] is common to all workers, as after an exchange that sums payloads. errors: [workers of this
/// device][state_size].
std::vector<CodecSquares> row_squares(const device::Shard& shard, const ExchangeLayout& layout,
                                      const device::Buffer<float>& errors, const float* decoded);

/// Squared norms for every row of a payload, over real elements.
std::vector<CodecSquares> row_squares(const device::Device& device, const ExchangeLayout& layout, const Codec& codec,
                                      const SegmentTable& table, const Payload& payload, const StoredErrors& errors);

}  // namespace onebit::compress
