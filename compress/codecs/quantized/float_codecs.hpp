#pragma once
// Number formats as codecs: float32 (lossless), IEEE half, bfloat16.

#include <cmath>

#include "compress/codecs/bytes.hpp"
#include "compress/codecs/segment_kernels.hpp"

namespace onebit::compress {

/// The identity: 4 bytes per element, no error.
struct Fp32 {
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return 4 * n; }
  static double reads() { return 0; }
  double delta(Index) const { return 1; }
  double omega(Index) const { return 0; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    lanes.each(in.n, [&in, out](Index i) {
      store(out + 4 * i, in.y[i]);
      in.y[i] = 0;
    });
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    lanes.each(n, [&use, in](Index i) { use(i, load<float>(in + 4 * i)); });
  }
};

/// IEEE binary16, round to nearest even; numbers beyond its range become its largest number, and the difference goes
/// into the error.
/// ||x - C[x]||^2 <= 2^-22 ||x||^2 for numbers in the normal range, 2^-14 and above; smaller ones lose up to 2^-25.
struct Fp16 {
  static constexpr float kLargest = 65504.0f;
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return 2 * n; }
  static double reads() { return 0; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    lanes.each(in.n, [&in, out](Index i) {
      const float y = in.y[i];
      const std::uint16_t half = to_half(y > kLargest ? kLargest : (y < -kLargest ? -kLargest : y));
      store(out + 2 * i, half);
      in.y[i] = y - from_half(half);
    });
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    lanes.each(n, [&use, in](Index i) { use(i, from_half(load<std::uint16_t>(in + 2 * i))); });
  }
};

/// bfloat16, round to nearest even: the upper half of a float32. |x - C[x]| <= 2^-8 |x|.
struct Bf16 {
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return 2 * n; }
  static double reads() { return 0; }
  double delta(Index) const { return 1 - 0x1p-16; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    lanes.each(in.n, [&in, out](Index i) {
      const std::uint16_t upper = to_bfloat(in.y[i]);
      store(out + 2 * i, upper);
      in.y[i] -= from_bfloat(upper);
    });
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    lanes.each(n, [&use, in](Index i) { use(i, from_bfloat(load<std::uint16_t>(in + 2 * i))); });
  }
};

}  // namespace onebit::compress
