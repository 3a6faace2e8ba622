#include "compress/channels/measure.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "compress/feedback/error_kernels.hpp"
#include "device/launch/sums.hpp"

namespace onebit::compress {
namespace {

/// Returns the sum of a row of [rows x segments].
double total(const device::Future<double>& values, const SegmentTable& table, Index row) {
  const double* begin = values.begin() + row * table.count();
  return std::accumulate(begin, begin + table.count(), 0.0);
}

/// Appends the squares of each of `rows` rows.
void append_squares(const device::Device& device, const SegmentTable& table, Index rows, FloatRows errors,
                    FloatRows decoded, std::vector<CodecSquares>& result) {
  const auto error = error_squares(device, table, table.real(), rows, errors);
  const auto encoded = encoded_squares(device, table, rows, errors, decoded);
  for (Index row = 0; row < rows; ++row) result.push_back({total(error, table, row), total(encoded, table, row)});
}

/// Counts what a sparse codec sent in each of `rows` decoded rows.
void count_sent(const device::Device& device, const SegmentTable& table, FloatRows decoded,
                std::span<CodecSquares> rows) {
  const auto sent =
      sums(device, std::ssize(rows), table.real(), SentKernel{table.device_segments(), decoded.values, decoded.stride});
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row].sent = total(sent, table, static_cast<Index>(row));
}

}  // namespace

device::Future<double> error_squares(const device::Device& device, const SegmentTable& table,
                                     const device::Chunks& chunks, Index rows, FloatRows errors) {
  return sums(device, rows, chunks,
              TermKernel<SquareOfTerm>{table.device_segments(), errors.values, errors.stride, false, {}});
}

device::Future<double> encoded_squares(const device::Device& device, const SegmentTable& table, Index rows,
                                       FloatRows errors, FloatRows decoded) {
  return sums(
      device, rows, table.real(),
      EncodedSquareKernel{table.device_segments(), errors.values, errors.stride, decoded.values, decoded.stride});
}

std::vector<CodecSquares> row_squares(const device::Shard& shard, const ExchangeLayout& layout,
                                      const device::Buffer<float>& errors, const float* decoded) {
  std::vector<CodecSquares> result;
  append_squares(shard.device, layout.worker(), shard.own().count, {errors.data(), layout.state_size()}, {decoded, 0},
                 result);
  return result;
}

// Decodes a few rows at a time, so that their errors are still in the cache for the second sum.
std::vector<CodecSquares> row_squares(const device::Device& device, const ExchangeLayout& layout, const Codec& codec,
                                      const SegmentTable& table, const Payload& payload, const StoredErrors& errors) {
  constexpr Index values_at_once = Index{1} << 18;
  const Index parameters = layout.parameters();
  const Index most = std::min(payload.rows, 1 + values_at_once / (1 + parameters));
  device::Buffer<float> decoded(device, most * parameters);
  std::vector<CodecSquares> result;
  for (Index first = 0; first < payload.rows; first += most) {
    const Index rows = std::min(most, payload.rows - first);
    for (Index row = 0; row < rows; ++row) {
      codec.decode(device, table, payload, first + row, decoded.data() + row * parameters);
    }
    errors.read({first, rows}, [&](Range part, const float* values) {
      append_squares(device, table, part.count, {values, layout.state_size()},
                     {decoded.data() + (part.first - first) * parameters, parameters}, result);
    });
    if (!codec.traits().sparse) continue;
    count_sent(device, table, {decoded.data(), parameters}, std::span(result).last(static_cast<std::size_t>(rows)));
  }
  return result;
}

}  // namespace onebit::compress
