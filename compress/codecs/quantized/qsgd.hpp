#pragma once

#include "compress/codecs/buckets.hpp"
#include "compress/codecs/quantized/level_packing.hpp"
#include "compress/codecs/segment_kernels.hpp"

namespace onebit::compress {

/// QSGD (Alistarh et al. 2017, section 3.1): C[y]_i = N sgn(y_i) l_i / s, where l_i is s |y_i| / N, rounded at random
/// to one of the two neighbouring integers so that its expectation is exact. N is the norm of y_i's bucket: ||y||_2 as
/// in the theory, or max|y| as in the paper's experiments. The codec is unbiased up to 2^-24 of a level, the resolution
/// of the random numbers.
///
/// Payload: with Elias packing, the payload's size (uint32); N of every bucket (float32); and the levels, packed over
/// the whole segment. The paper packs every bucket separately and codes the levels with recursive Elias codes; this
/// codec uses the gamma code, which is shorter for small numbers.
///
/// Variance with d elements in a bucket: the variance of a level is at most 1/4, like that of a coin, and at most s
/// |y_i| / N. With the L2 norm this gives omega = min(d / (4 s^2), sqrt(d) / s) (Lemma 3.1 has d / s^2). With the
/// maximum norm, the largest element is exact, and sum l(1 - l) / (s^2 + sum l^2) over the others is largest if they
/// are all equal: omega = (sqrt(1 + (d - 1) / s^2) - 1) / 2. The resolution of the random numbers adds 2^-24 d / s^2.
template <class Packing>
struct Qsgd {
  static constexpr bool kVariableSize = Packing::kVariableSize;
  static constexpr Index kHeader = kVariableSize ? 4 : 0;

  Index levels = 127;  ///< s: number of levels of each sign
  Index block = 0;     ///< elements of a bucket; 0: the segment
  bool maximum = false;

  ONEBIT_HOST_DEVICE Index bytes(Index n) const {
    return n > 0 ? kHeader + Buckets(n, block).bytes() + ceil_div(Packing::most_bits(n, levels), 8) : 0;
  }
  double omega(Index n) const {
    const auto d = static_cast<double>(Buckets(n, block).size), s = static_cast<double>(levels);
    const double resolution = 0x1p-24 * d / (s * s);
    if (maximum) return n > 0 ? (std::sqrt(1 + (d - 1) / (s * s)) - 1) / 2 + resolution : 0;
    return std::fmin(d / (4 * s * s), std::sqrt(d) / s) + resolution;
  }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    if (in.n == 0) return 0;
    const Buckets buckets(in.n, block);
    std::uint8_t* norms = out + kHeader;
    if (maximum) {
      store_norms(in.y, buckets, norms, LargestSize{}, lanes);
    } else {
      store_norms(in.y, buckets, norms, EuclideanNorm{}, lanes);
    }
    const auto level_of = [&in, norms, this](Index bucket) {
      return [&in, step = step_of(norms, bucket), this](Index i) {
        const Index level = step > 0 ? draw(static_cast<double>(in.y[i]) / step, in.random.uniform(i)) : 0;
        in.y[i] -= value(level, step);
        return level;
      };
    };
    const Index head = kHeader + buckets.bytes();
    const Index used = head + Packing::put(out + head, in.n, levels, buckets.size, level_of, lanes);
    if (kVariableSize) lanes.once([&] { store(out, static_cast<std::uint32_t>(used)); });
    return used;
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    if (n == 0) return;
    const Buckets buckets(n, block);
    const std::uint8_t* norms = in + kHeader;
    const auto use_level = [use, norms, this](Index bucket) {
      return [use, step = step_of(norms, bucket)](Index i, Index level) { use(i, value(level, step)); };
    };
    Packing::get(norms + buckets.bytes(), n, levels, buckets.size, use_level, lanes);
  }

 private:
  ONEBIT_HOST_DEVICE double step_of(const std::uint8_t* norms, Index bucket) const {
    return static_cast<double>(load<float>(norms + 4 * bucket)) / static_cast<double>(levels);
  }
  /// Rounds x away from zero with a probability equal to its fraction, otherwise towards zero. The result is within -s
  /// .. s.
  ONEBIT_HOST_DEVICE Index draw(double x, float uniform) const {
    const double size = std::fabs(x), floor = std::floor(size);
    Index level = static_cast<Index>(floor) + (static_cast<double>(uniform) < size - floor ? 1 : 0);
    if (level > levels) level = levels;
    return x < 0 ? -level : level;
  }
  ONEBIT_HOST_DEVICE static float value(Index level, double step) {
    return static_cast<float>(static_cast<double>(level) * step);
  }
};

}  // namespace onebit::compress
