#pragma once
// Signs, 4-bit and 8-bit integers, and 8-bit floats, with one scale per block of elements.

#include <cmath>

#include "compress/codecs/bit_stream.hpp"
#include "compress/codecs/buckets.hpp"
#include "compress/codecs/segment_kernels.hpp"

namespace onebit::compress {

/// Integers from -kLargest to kLargest in two's complement, rounded to nearest even.
template <int bits>
struct Integer {
  static constexpr int kBits = bits;
  static constexpr double kLargest = (1 << (bits - 1)) - 1;
  static constexpr double kHalfStep = 0.5;
  static constexpr double kRelativeSquare = 0x1p-21;  ///< bound on the squared relative error of rounding to float32

  ONEBIT_HOST_DEVICE static std::uint32_t code(double x) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(std::rint(x))) & ((1u << bits) - 1u);
  }
  ONEBIT_HOST_DEVICE static double value(std::uint32_t code) {
    const std::uint32_t sign = (code >> (bits - 1)) & 1u;
    return static_cast<double>(code) - static_cast<double>(sign << bits);
  }
};

/// OCP 8-bit floating point (OFP8), rounded to nearest even: bias 7, no infinities, largest 448.
struct E4m3 {
  static constexpr int kBits = 8;
  static constexpr double kLargest = 448;
  static constexpr double kHalfStep = 0x1p-10;
  static constexpr double kRelativeSquare = 0x1p-8;
  ONEBIT_HOST_DEVICE static std::uint32_t code(double x) { return to_small_float<4, 3>(static_cast<float>(x)); }
  ONEBIT_HOST_DEVICE static double value(std::uint32_t code) {
    return static_cast<double>(from_small_float<4, 3>(code));
  }
};

/// OFP8: bias 15, largest finite number 57344; infinities and NaNs are never sent.
struct E5m2 {
  static constexpr int kBits = 8;
  static constexpr double kLargest = 57344;
  static constexpr double kHalfStep = 0x1p-17;
  static constexpr double kRelativeSquare = 0x1p-6;
  ONEBIT_HOST_DEVICE static std::uint32_t code(double x) { return to_small_float<5, 2>(static_cast<float>(x)); }
  ONEBIT_HOST_DEVICE static double value(std::uint32_t code) {
    return static_cast<double>(from_small_float<5, 2>(code));
  }
};

/// C[y] = s * round(y / s) with s = max|y| / kLargest over each block, so the largest element is exact and nothing
/// saturates. Payload: max|y| of every block (float32), then kBits per element, packed over the whole segment. The
/// maximum is sent rather than s because it is a float32 already. Sending the maximum as fp16 would save 1/16 of a bit
/// per element at block 256, but maxima below 6e-8, which gradients do have, would become zero.
///
/// Bound: with h = kHalfStep, an element's error is at most the larger of min(|y|, h s) and r|y|, with r^2 =
/// kRelativeSquare; the largest element has no error. ||e||^2 / ||y||^2 is largest when the m - 1 other elements of a
/// block are all h s: 1 - delta = (m - 1) / ((kLargest / h)^2 + m - 1) + r^2. Numbers below float32's normal range
/// count as zero, as in all kernels, and the bound does not cover them.
template <class Number>
struct BlockScaled {
  Index block = 0;  ///< elements that share a scale; 0: the segment

  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return Buckets(n, block).bytes() + ceil_div(n * Number::kBits, 8); }
  double delta(Index n) const {
    constexpr double steps = Number::kLargest / Number::kHalfStep;
    const Index m = Buckets(n, block).size;
    const auto others = static_cast<double>(m > 1 ? m - 1 : 0);
    return steps * steps / (steps * steps + others) - Number::kRelativeSquare;
  }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    const Buckets buckets(in.n, block);
    store_norms(in.y, buckets, out, LargestSize{}, lanes);
    const auto code_of = [y = in.y, out](Index bucket) {
      return [y, scale = scale_of(out, bucket)](Index i) {
        const std::uint32_t code = Number::code(scale > 0 ? static_cast<double>(y[i]) / scale : 0.0);
        y[i] -= static_cast<float>(Number::value(code) * scale);
        return code;
      };
    };
    put_codes(out + buckets.bytes(), in.n, Constant<Number::kBits>{}, buckets.size, code_of, lanes);
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    const Buckets buckets(n, block);
    const auto use_code = [use, in](Index bucket) {
      return [use, scale = scale_of(in, bucket)](Index i, std::uint64_t code) {
        use(i, static_cast<float>(Number::value(static_cast<std::uint32_t>(code)) * scale));
      };
    };
    get_codes(in + buckets.bytes(), n, Constant<Number::kBits>{}, buckets.size, use_code, lanes);
  }

 private:
  ONEBIT_HOST_DEVICE static double scale_of(const std::uint8_t* payload, Index bucket) {
    return static_cast<double>(load<float>(payload + 4 * bucket)) / Number::kLargest;
  }
};

/// sign-l2 with one scale per block of m elements: C[y] = ||y||_2 / sqrt(m) sign(y) over each block, sign(0) = +1. On
/// the way up, every row of a matrix has its own scale if blocks have the length of a row; on the way down, a server's
/// first block starts where its chunk starts. Like sign-l2, it keeps the norm and is a contraction only if ||y||_1^2 >
/// m/4
/// ||y||_2^2, so no delta is declared.
/// Payload: the scale of every block (float32), then one bit per element, set for +.
struct BlockSigns {
  Index block = 0;  ///< elements that share a scale; 0: the segment

  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return Buckets(n, block).bytes() + ceil_div(n, 8); }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    const Buckets buckets(in.n, block);
    store_norms(in.y, buckets, out, RootMeanSquare{}, lanes);
    const auto sign_of = [y = in.y, out](Index bucket) {
      return [y, scale = load<float>(out + 4 * bucket)](Index i) {
        const bool plus = y[i] >= 0;
        y[i] -= plus ? scale : -scale;
        return std::uint64_t{plus};
      };
    };
    put_codes(out + buckets.bytes(), in.n, Constant<1>{}, buckets.size, sign_of, lanes);
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    const Buckets buckets(n, block);
    const auto use_sign = [use, in](Index bucket) {
      return [use, scale = load<float>(in + 4 * bucket)](Index i, std::uint64_t plus) {
        use(i, plus != 0 ? scale : -scale);
      };
    };
    get_codes(in + buckets.bytes(), n, Constant<1>{}, buckets.size, use_sign, lanes);
  }
};

}  // namespace onebit::compress
