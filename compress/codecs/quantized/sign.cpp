#include "compress/codecs/quantized/sign.hpp"

#include "compress/feedback/feed.hpp"

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

std::string_view SignCodec::name() const {
  constexpr std::string_view names[] = {"sign-l2", "sign-l1", "sign"};
  return names[static_cast<int>(norm_)];
}

/// ||x||_1^2 / (d ||x||_2^2) is at least 1 / d.
std::optional<double> SignCodec::delta(Index n) const {
  if (norm_ != ScaleNorm::l1) return std::nullopt;
  return 1 / static_cast<double>(std::max<Index>(1, n));
}

Traits SignCodec::traits() const {
  return {.deterministic = true, .contraction = norm_ == ScaleNorm::l1, .sliceable = true, .signs = true};
}

/// Scales from the sums, then bits and errors.
SecondPass SignCodec::second_pass(const Side& side, Range range, float* errors, Index stride, const double* sums,
                                  Payload& payload) const {
  const Segment* table = side.device_segments();
  float* scales = payload.scales.data() + range.first * payload.scale_count;
  return {{table, side.count(), sums, scales, {norm_}}, {table, side.count(), scales, errors, stride}};
}

void SignCodec::finish(const device::Device& device, const Side& side, Range range, const SecondPass& pass,
                       Payload& payload) const {
  for_each(device, range.count * side.count(), pass.scale);
  pack_bits(device, side.active(), sign_rows(side, payload, range), pass.bit);
}

void SignCodec::encode(const device::Device& device, const Side& side, Range range, const EncodeInput& input,
                       const Draw&, float* errors, Index stride, Payload& payload) const {
  device::Buffer<double> sums(device, range.count * side.count());
  const SecondPass second = second_pass(side, range, errors, stride, sums.data(), payload);
  if (leaves_padding(side, input)) {
    feed_terms(device, side, range.count, input, errors, stride, ScaleTerm{norm_}, sums.data());
    finish(device, side, range, second, payload);
  } else {
    with_feed(side, input, errors, stride, ScaleTerm{norm_}, [&]<class Kernel>(const auto& chunks, const Kernel& feed) {
      reduce_and_pack(device, range.count, chunks, BothPasses<Kernel>{second, feed}, sums.data(),
                      sign_rows(side, payload, range));
    });
  }
  if (!refuses()) return;
  refuse(device, side, range.count, sums.data(), errors, stride, payload.refused.data() + range.first * side.count());
}

void SignCodec::serve(const device::Device& device, const Side& chunks, const Codec& up, const Payload& arrived,
                      const Draw& draw, float* errors, Index stride, Payload& payload) const {
  if (dynamic_cast<const SignCodec*>(&up) == nullptr) {
    return Codec::serve(device, chunks, up, arrived, draw, errors, stride, payload);
  }
  device::Buffer<double> sums(device, chunks.count());
  reduce_sign_mean(device, chunks.active(), scaled_rows(chunks, arrived, {0, arrived.rows}),
                   ServeKernel{chunks.device_segments(), errors, {norm_}}, sums.data());
  if (refuses()) refuse(device, chunks, 1, sums.data(), errors, stride, payload.refused.data());
  finish(device, chunks, {0, 1}, second_pass(chunks, {0, 1}, errors, stride, sums.data(), payload), payload);
}

void SignCodec::add_mean(const device::Device& device, const Side& side, const Payload& payload, Target where,
                         float* target) const {
  const bool to_parameters = where == Target::parameters;
  for_each_sign_mean(device, to_parameters ? side.real() : side.active(), scaled_rows(side, payload, {0, payload.rows}),
                     AddSignMeanKernel{side.device_segments(), to_parameters, target});
}

/// The mean of one row.
void SignCodec::decode(const device::Device& device, const Side& side, const Payload& payload, Index row,
                       float* parameters) const {
  for_each_sign_mean(device, side.real(), scaled_rows(side, payload, {row, 1}),
                     DecodeSignKernel{side.device_segments(), parameters});
}

}  // namespace onebit::compress
