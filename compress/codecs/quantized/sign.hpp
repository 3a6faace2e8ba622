#pragma once

#include "compress/codecs/quantized/sign_kernels.hpp"

namespace onebit::compress {

/// One bit per element and one float scale per segment: C[y] = scale * sign(y) (1-bit Adam, Tang et al. 2021, section
/// 4; EF-signSGD, Karimireddy et al. 2019, with the L1 scale). With the scale 1, which is not sent, an exchange with
/// this codec both ways is signSGD's majority vote (Bernstein et al. 2018), in which ties become +1.
///
/// sign(0) = sign(-0) = +1, so that an all-zero vector decodes to +0 and leaves no error. A NaN makes the scale NaN;
/// without a scale, the segment is refused. Bits are MSB first; padding bits are 1 and are ignored. The scale is
/// computed over a segment's active elements. Contraction: ||y - C[y]||^2 = (1 - ||y||_1^2 / (d ||y||_2^2)) ||y||_2^2
/// with the L1 scale; the L2 scale keeps the norm and is a contraction only for ||y||_1^2 > d/4 ||y||_2^2.
class SignCodec final : public Codec {
 public:
  explicit SignCodec(ScaleNorm norm) : norm_(norm) {}

  std::string_view name() const override;
  Traits traits() const override;
  Index body_bytes(const Segment& segment) const override { return segment.padded / 8; }
  Index scale_bytes(const Segment&) const override { return norm_ == ScaleNorm::unit ? 0 : sizeof(float); }
  Index scales_per_segment() const override { return 1; }
  bool refuses() const override { return norm_ == ScaleNorm::unit; }
  netmodel::CodecPasses passes() const override;
  std::optional<double> delta(Index n) const override;
  void encode(const device::Device& device, const SegmentTable& table, Range range, const EncodeInput& input,
              const RngKey& key, ErrorRows errors, Payload& payload) const override;
  void add_mean(const device::Device& device, const SegmentTable& table, const Payload& payload, Target where,
                float* target) const override;
  void serve(const device::Device& device, const SegmentTable& chunks, const Codec& up, const Payload& arrived,
             const RngKey& key, ErrorRows errors, Payload& payload) const override;
  void decode(const device::Device& device, const SegmentTable& table, const Payload& payload, Index row,
              float* parameters) const override;

 private:
  SecondPass second_pass(const SegmentTable& table, Range range, ErrorRows errors, const double* sums,
                         Payload& payload) const;
  void finish(const device::Device& device, const SegmentTable& table, Range range, const SecondPass& pass,
              Payload& payload) const;

  ScaleNorm norm_;
};

}  // namespace onebit::compress
