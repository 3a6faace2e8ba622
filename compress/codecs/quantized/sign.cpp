#include "compress/codecs/quantized/sign.hpp"

#include "compress/feedback/error_feedback.hpp"

namespace onebit::compress {
namespace {

/// The rows [range] of a payload. Launchers that only read take the same (mutable) type, hence the cast.
device::SignRows sign_rows(const SegmentTable& table, const Payload& payload, Range range) {
  auto* bits = const_cast<std::uint8_t*>(payload.body.data()) + range.first * payload.body_bytes;
  return {range.count, bits, payload.body_bytes, table.device_byte_offsets()};
}

/// The rows [range] of a payload with their scales. The chunks of a vector, which are segments of the table, may share
/// one scale.
device::ScaledSignRows scaled_rows(const SegmentTable& table, const Payload& payload, Range range) {
  return {sign_rows(table, payload, range), payload.scales.data() + range.first * payload.scale_count,
          payload.scale_count, table.count() / std::max<Index>(1, payload.scale_count)};
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

/// The first pass computes the sums for the scales while it adds the input. For each element, the released code of
/// 1-bit Adam (PyTorch and CuPy) touches 96 bytes in a worker, 34 in a server, and 46 to unpack.
netmodel::CodecPasses SignCodec::passes() const {
  netmodel::CodecPasses passes = passes_of(0, traits());
  if (norm_ == ScaleNorm::l2) passes.released = 96 + 34 + 46;
  return passes;
}

Traits SignCodec::traits() const {
  return {.deterministic = true,
          .contraction = norm_ == ScaleNorm::l1,
          .sliceable = true,
          .signs = true,
          .wire = netmodel::WireType::bits};
}

/// Makes the kernels of the second pass: scales from the sums, then bits and errors.
SecondPass SignCodec::second_pass(const SegmentTable& table, Range range, ErrorRows errors, const double* sums,
                                  Payload& payload) const {
  const Segment* segments = table.device_segments();
  float* scales = payload.scales.data() + range.first * payload.scale_count;
  return {{segments, table.count(), sums, scales, {norm_}},
          {segments, table.count(), scales, errors.data, errors.stride}};
}

void SignCodec::finish(const device::Device& device, const SegmentTable& table, Range range, const SecondPass& pass,
                       Payload& payload) const {
  for_each(device, range.count * table.count(), pass.scale);
  pack_bits(device, table.active(), sign_rows(table, payload, range), pass.bit);
}

void SignCodec::encode(const device::Device& device, const SegmentTable& table, Range range, const EncodeInput& input,
                       const RngKey&, ErrorRows errors, Payload& payload) const {
  device::Buffer<double> sums(device, range.count * table.count());
  const SecondPass second = second_pass(table, range, errors, sums.data(), payload);
  if (leaves_padding(table, input)) {
    feed_terms(device, table, range.count, input, errors, ScaleTerm{norm_}, sums.data());
    finish(device, table, range, second, payload);
  } else {
    with_error_feedback(table, input, errors, ScaleTerm{norm_},
                        [&]<class Kernel>(const auto& chunks, const Kernel& feed) {
                          reduce_and_pack(device, range.count, chunks, BothPasses<Kernel>{second, feed}, sums.data(),
                                          sign_rows(table, payload, range));
                        });
  }
  if (!refuses()) return;
  refuse(device, table, range.count, sums.data(), errors, payload.refused.data() + range.first * table.count());
}

void SignCodec::serve(const device::Device& device, const SegmentTable& chunks, const Codec& up, const Payload& arrived,
                      const RngKey& key, ErrorRows errors, Payload& payload) const {
  if (dynamic_cast<const SignCodec*>(&up) == nullptr) {
    return Codec::serve(device, chunks, up, arrived, key, errors, payload);
  }
  device::Buffer<double> sums(device, chunks.count());
  reduce_sign_mean(device, chunks.active(), scaled_rows(chunks, arrived, {0, arrived.rows}),
                   ServeKernel{chunks.device_segments(), errors.data, {norm_}}, sums.data());
  if (refuses()) refuse(device, chunks, 1, sums.data(), errors, payload.refused.data());
  finish(device, chunks, {0, 1}, second_pass(chunks, {0, 1}, errors, sums.data(), payload), payload);
}

void SignCodec::add_mean(const device::Device& device, const SegmentTable& table, const Payload& payload, Target where,
                         float* target) const {
  const bool to_parameters = where == Target::parameters;
  for_each_sign_mean(device, to_parameters ? table.real() : table.active(),
                     scaled_rows(table, payload, {0, payload.rows}),
                     AddSignMeanKernel{table.device_segments(), to_parameters, target});
}

/// Decodes by taking the mean of one row.
void SignCodec::decode(const device::Device& device, const SegmentTable& table, const Payload& payload, Index row,
                       float* parameters) const {
  for_each_sign_mean(device, table.real(), scaled_rows(table, payload, {row, 1}),
                     DecodeSignKernel{table.device_segments(), parameters});
}

}  // namespace onebit::compress
