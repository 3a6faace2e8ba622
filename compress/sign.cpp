#include "compress/sign.hpp"

#include "device/launch.hpp"

namespace onebit::compress {
namespace {

/// The rows [range] of a payload; launchers that read take them as well, hence the cast.
device::SignRows sign_rows(const Side& side, const Payload& payload, Range range) {
  auto* bits = const_cast<std::uint8_t*>(payload.body.data()) + range.first * payload.body_bytes;
  return {range.count, bits, payload.body_bytes, side.device_byte_offsets()};
}

/// The same with their scales; a side may cut what shares one scale into chunks.
device::ScaledSignRows scaled_rows(const Side& side, const Payload& payload, Range range) {
  return {sign_rows(side, payload, range), payload.scales.data() + range.first * payload.scale_count,
          payload.scale_count, side.count() / std::max<Index>(1, payload.scale_count)};
}

}  // namespace

Traits SignCodec::traits() const {
  return {.deterministic = true, .unbiased = false, .contraction = norm_ == ScaleNorm::l1, .sliceable = true};
}

Payload SignCodec::make_payload(const device::Device& device, const Side& side, Index rows) const {
  Payload payload(device, rows, side.packed_bytes(), side.count());
  payload.body.upload(std::vector<std::uint8_t>(static_cast<std::size_t>(payload.body.size()), 0xFF));
  return payload;
}

/// sums[row * segments + segment] of the scale's norm; leaves y in the errors.
void SignCodec::feed(const device::Device& device, const Side& side, Index rows, const EncodeInput& input,
                     float* errors, Index stride, double* sums) const {
  const ScaleTerm term{norm_};
  const Segment* table = side.device_segments();
  if (input.rows == nullptr) {
    reduce(device, rows, side.active(), TermKernel{table, errors, stride, false, term}, sums);
    return;
  }
  reduce(device, rows, side.real(), FeedKernel{table, input, errors, stride, term}, sums);
  if (side.padding().count() == 0) return;
  device::Buffer<double> padding_sums(device, rows * side.count());
  reduce(device, rows, side.padding(), TermKernel{table, errors, stride, true, term}, padding_sums.data());
  for_each(device, padding_sums.size(), AddKernel{sums, padding_sums.data()});
}

/// Pass 2: scales from the sums, then bits and errors.
void SignCodec::finish(const device::Device& device, const Side& side, Range range, float* errors, Index stride,
                       const double* sums, Payload& payload) const {
  const Segment* table = side.device_segments();
  float* scales = payload.scales.data() + range.first * payload.scale_count;
  for_each(device, range.count * side.count(), ScaleKernel{table, side.count(), sums, scales, {norm_}});
  pack_bits(device, side.active(), sign_rows(side, payload, range),
            SignKernel{table, side.count(), scales, errors, stride});
}

void SignCodec::encode(const device::Device& device, const Side& side, Range range, const EncodeInput& input,
                       float* errors, Index stride, Payload& payload) const {
  device::Buffer<double> sums(device, range.count * side.count());
  float* rows = errors + range.first * stride;
  feed(device, side, range.count, input, rows, stride, sums.data());
  finish(device, side, range, rows, stride, sums.data(), payload);
}

void SignCodec::serve(const device::Device& device, const Side& chunks, const Codec& up, const Payload& arrived,
                      float* errors, Index stride, Payload& payload) const {
  if (dynamic_cast<const SignCodec*>(&up) == nullptr) {
    return Codec::serve(device, chunks, up, arrived, errors, stride, payload);
  }
  device::Buffer<double> sums(device, chunks.count());
  reduce_sign_mean(device, chunks.active(), scaled_rows(chunks, arrived, {0, arrived.rows}),
                   ServeKernel{chunks.device_segments(), errors, {norm_}}, sums.data());
  finish(device, chunks, {0, 1}, errors, stride, sums.data(), payload);
}

void SignCodec::add_mean(const device::Device& device, const Side& chunks, const Payload& payload, float* state) const {
  for_each_sign_mean(device, chunks.active(), scaled_rows(chunks, payload, {0, payload.rows}),
                     AddMeanKernel{chunks.device_segments(), state});
}

/// The mean of one row.
void SignCodec::decode(const device::Device& device, const Side& side, const Payload& payload, Index row,
                       float* parameters) const {
  for_each_sign_mean(device, side.real(), scaled_rows(side, payload, {row, 1}),
                     DecodeKernel{side.device_segments(), parameters});
}

}  // namespace onebit::compress
