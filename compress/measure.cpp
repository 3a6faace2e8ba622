#include "compress/measure.hpp"

#include <numeric>

#include "compress/error_kernels.hpp"
#include "device/launch.hpp"

namespace onebit::compress {

std::vector<double> squares_of(const device::Device& device, const Side& side, const device::Chunks& chunks,
                               const float* errors, const float* decoded) {
  device::Buffer<double> sums(device, side.count());
  reduce(device, 1, chunks, ErrorKernel{side.device_segments(), errors, decoded}, sums.data());
  return sums.to_host();
}

namespace {

/// Of one row, given what it was decoded to.
CodecSquares squares_of_row(const device::Device& device, const Side& side, const float* errors, const float* decoded) {
  const auto total = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  return {total(squares_of(device, side, side.real(), errors, nullptr)),
          total(squares_of(device, side, side.real(), errors, decoded))};
}

}  // namespace

std::vector<CodecSquares> row_squares(const device::Shard& shard, const ExchangeLayout& layout,
                                      const device::Buffer<float>& errors, const float* decoded) {
  std::vector<CodecSquares> result;
  for (Index w = 0; w < shard.own().count; ++w) {
    result.push_back(squares_of_row(shard.device, layout.worker(), errors.data() + w * layout.state_size(), decoded));
  }
  return result;
}

std::vector<CodecSquares> row_squares(const device::Device& device, const ExchangeLayout& layout, const Codec& codec,
                                      const Side& side, const Payload& payload, const device::Buffer<float>& errors) {
  device::Buffer<float> decoded(device, layout.parameters());
  std::vector<CodecSquares> result;
  for (Index row = 0; row < payload.rows; ++row) {
    codec.decode(device, side, payload, row, decoded.data());
    result.push_back(squares_of_row(device, side, errors.data() + row * layout.state_size(), decoded.data()));
  }
  return result;
}

}  // namespace onebit::compress
