#pragma once
// Methods with few bits per element and at most two numbers per segment: TernGrad, natural compression, 1-bit SGD.

#include "compress/codecs/bit_stream.hpp"
#include "compress/codecs/bytes.hpp"
#include "compress/codecs/segment_kernels.hpp"

namespace onebit::compress {

/// TernGrad (Wen et al. 2017): C[y]_i = s sgn(y_i) b_i with P(b_i = 1) = |y_i| / s, where s is the largest magnitude in
/// this segment over all workers (the paper's scaler sharing). Before that, y is clipped to ±clip sigma (gradient
/// clipping). The mean of C is the clipped vector, up to the resolution 2^-24 s of the random numbers. The part that is
/// clipped off goes into the error. Deviation: sigma is the root mean square instead of the standard deviation, because
/// the latter is 0 for a constant segment and for a single element, and would clip these to 0.
///
/// Payload: s (float32; also on the way up, where every receiver knows it already), then five elements per byte in base
/// 3, the first one in the lowest digit: 0 for -s, 1 for 0, 2 for +s. Digits after the last element are 0.
///
/// E||C[y] - y||^2 = s ||y||_1 - ||y||_2^2 without clipping. No omega is declared, because another worker may make s
/// arbitrarily large. For a single worker, omega is (sqrt(n) - 1) / 2.
struct TernGrad {
  double clip = 0;  ///< clipping bound in root mean squares of the segment; 0: no clipping

  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return n > 0 ? 4 + ceil_div(n, 5) : 0; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    if (in.n == 0) return 0;
    const float limit = clip_limit(in.y, in.n, clip, lanes);
    lanes.once([&] { store(out, in.shared_max); });
    lanes.each(ceil_div(in.n, 5), [&in, out, limit](Index five) {
      std::uint32_t byte = 0, place = 1;
      for (Index i = 5 * five; i < in.n && i < 5 * five + 5; ++i, place *= 3) {
        const float size = clipped(in.y[i], limit);
        // The product is exact: a double holds the product of two 24-bit numbers.
        const bool sent =
            static_cast<double>(in.random.uniform(i)) * static_cast<double>(in.shared_max) < static_cast<double>(size);
        const std::uint32_t digit = !sent ? 1u : (in.y[i] < 0 ? 0u : 2u);
        byte += place * digit;
        in.y[i] -= value(digit, in.shared_max);
      }
      out[4 + five] = static_cast<std::uint8_t>(byte);
    });
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    if (n == 0) return;
    const auto use_five = [use, scale = load<float>(in)](Index first, std::uint32_t byte, auto count) {
      for (Index k = 0; k < count; ++k, byte /= 3) use(first + k, value(byte % 3, scale));
    };
    lanes.each(n / 5, [&](Index five) { use_five(5 * five, in[4 + five], Constant<5>{}); });
    if (n % 5 != 0) lanes.once([&] { use_five(n - n % 5, in[4 + n / 5], n % 5); });
  }
  ONEBIT_HOST_DEVICE static float value(std::uint32_t digit, float scale) {
    return (static_cast<float>(digit) - 1.0f) * scale;
  }
};

/// Natural compression (Horvath et al. 2019): sign and power of two. |y| = 2^e (1 + f) becomes 2^(e + 1) with
/// probability f and 2^e otherwise. The random numbers resolve all 23 bits of f in a float32, so the codec is exactly
/// unbiased. omega = max f(1 - f) / (1 + f)^2 = 1/8, at f = 1/3. Numbers above 2^127 become 2^127; those below 2^-126
/// count as zero, as in all kernels. Payload: 9 bits per element, the exponent field of float32 (0 for zero) below the
/// sign.
struct Natural {
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return ceil_div(9 * n, 8); }
  double omega(Index) const { return 0.125; }
  static double reads() { return 0; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    const auto code_of = [&in](Index i) {
      const auto bits = bits_as<std::uint32_t>(in.y[i]);
      const auto fraction = static_cast<float>(bits & 0x7FFFFFu) * 0x1p-23f;
      std::uint32_t exponent = (bits >> 23) & 0xFFu;
      if (exponent > 0 && exponent < 254 && in.random.uniform(i) < fraction) ++exponent;
      const std::uint32_t code = ((bits >> 31) << 8) | exponent;
      in.y[i] -= value(code);
      return code;
    };
    put_codes(out, in.n, Constant<9>{}, code_of, lanes);
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    get_codes(
        in, n, Constant<9>{}, [&use](Index i, std::uint64_t code) { use(i, value(static_cast<std::uint32_t>(code))); },
        lanes);
  }
  ONEBIT_HOST_DEVICE static float value(std::uint32_t code) { return bits_as<float>(code << 23); }
};

/// 1-bit SGD's quantiser (Seide et al. 2014): every negative number is replaced by the mean of the negative numbers,
/// and every other number by the mean of the others. These means are the two values with the smallest squared error for
/// a threshold at 0. The paper computes them for each column of a weight matrix, this codec for each segment. -0.0 is
/// not negative.
/// Payload: the mean of the negative numbers and the mean of the others (float32; 0 if there are none), then 1 bit per
/// element, set for the others.
///
/// Bound: if the p numbers of one sign, whose sum is S, are replaced by their mean, the sum of their squares becomes
/// S^2 / p, and |S| is at least their L2 norm. So at least ||y||^2 / n is kept: delta = 1/n. Rounding a mean to float32
/// costs 2^-48 ||y||^2, a second-order term.
struct TwoMeans {
  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return n > 0 ? 8 + ceil_div(n, 8) : 0; }
  double delta(Index n) const { return n > 0 ? 1 / static_cast<double>(n) - 0x1p-47 : 1; }
  static double reads() { return 3; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    if (in.n == 0) return 0;
    const float* y = in.y;
    const double others = lanes.sum(in.n, [y](Index i) { return y[i] >= 0 ? 1.0 : 0.0; });
    const double counts[2] = {static_cast<double>(in.n) - others, others};
    float means[2];
    for (int side = 0; side < 2; ++side) {
      const bool other = side == 1;
      const double sum =
          lanes.sum(in.n, [y, other](Index i) { return (y[i] >= 0) == other ? static_cast<double>(y[i]) : 0.0; });
      means[side] = counts[side] > 0 ? static_cast<float>(sum / counts[side]) : 0.0f;
    }
    lanes.once([&] {
      store(out, means[0]);
      store(out + 4, means[1]);
    });
    const auto side_of = [&in, &means](Index i) {
      const bool other = in.y[i] >= 0;
      in.y[i] -= other ? means[1] : means[0];
      return std::uint64_t{other};
    };
    put_codes(out + 8, in.n, Constant<1>{}, side_of, lanes);
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    if (n == 0) return;
    const auto use_side = [use, low = load<float>(in), high = load<float>(in + 4)](Index i, std::uint64_t side) {
      use(i, side != 0 ? high : low);
    };
    get_codes(in + 8, n, Constant<1>{}, use_side, lanes);
  }
};

}  // namespace onebit::compress
