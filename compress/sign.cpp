#include "compress/sign.hpp"

#include "device/launch.hpp"

namespace onebit::compress {
namespace {

/// sums[row * segments + segment] of the scale's norm; leaves y in the errors.
template <class Queue>
void feed(const Queue& queue, const Side& side, Index rows, const EncodeInput& input, float* errors, Index stride,
          ScaleTerm term, double* sums, double* padding_sums) {
  const Segment* table = side.device_segments();
  if (input.rows == nullptr) {
    reduce(queue, rows, side.active(), TermKernel{table, errors, stride, false, term}, sums);
    return;
  }
  reduce(queue, rows, side.real(), FeedKernel{table, input, errors, stride, term}, sums);
  if (side.padding().count() == 0) return;
  reduce(queue, rows, side.padding(), TermKernel{table, errors, stride, true, term}, padding_sums);
  for_each(queue, rows * side.count(), AddKernel{sums, padding_sums});
}

/// The rows [range] of a payload; launchers that read take them as well, hence the cast.
device::SignRows sign_rows(const Side& side, const Payload& payload, Range range) {
  auto* bits = const_cast<std::uint8_t*>(payload.body.data()) + range.first * payload.body_bytes;
  return {range.count, bits, payload.body_bytes, side.device_byte_offsets()};
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

void SignCodec::encode(const device::Device& device, const Side& side, Range range, const EncodeInput& input,
                       float* errors, Index stride, Payload& payload) const {
  const ScaleTerm term{norm_};
  const Segment* table = side.device_segments();
  device::Buffer<double> sums(device, range.count * side.count());
  device::Buffer<double> padding_sums(device, side.padding().count() > 0 ? sums.size() : 0);
  float* rows = errors + range.first * stride;
  float* scales = payload.scales.data() + range.first * payload.scale_count;
  const device::SignRows bits = sign_rows(side, payload, range);
  device.run([&](const auto& queue) {
    feed(queue, side, range.count, input, rows, stride, term, sums.data(), padding_sums.data());
    for_each(queue, sums.size(), ScaleKernel{table, side.count(), sums.data(), scales, term});
    pack_bits(queue, side.active(), bits, SignKernel{table, side.count(), scales, rows, stride});
  });
}

void SignCodec::add_mean(const device::Device& device, const Side& side, const Payload& payload, float* state) const {
  const device::SignRows rows = sign_rows(side, payload, {0, payload.rows});
  device.run([&](const auto& queue) {
    for_each_sign_mean(queue, side.active(), rows, payload.scales.data(), AddMeanKernel{side.device_segments(), state});
  });
}

/// The mean of one row.
void SignCodec::decode(const device::Device& device, const Side& side, const Payload& payload, Index row,
                       float* parameters) const {
  const device::SignRows rows = sign_rows(side, payload, {row, 1});
  const float* scales = payload.scales.data() + row * payload.scale_count;
  device.run([&](const auto& queue) {
    for_each_sign_mean(queue, side.real(), rows, scales, DecodeKernel{side.device_segments(), parameters});
  });
}

}  // namespace onebit::compress
