#pragma once
// Random elements of a vector.

#include "compress/codecs/bytes.hpp"
#include "compress/codecs/keyed_permutation.hpp"
#include "compress/codecs/segment_kernels.hpp"
#include "compress/codecs/sparse/recorded_indices.hpp"
#include "compress/codecs/sparse/sent_count.hpp"

namespace onebit::compress {

/// Random-k (Stich et al. 2018): k elements without repetition, drawn anew every step, each with probability k/n. The
/// receiver computes the indices from the key, so none are sent. `shared`: all workers draw the same key and therefore
/// send the same elements, so the values of their payloads can be summed; otherwise every worker draws its own key.
///
/// Payload: the key, 8 bytes, and the k values as float32 in the order of the permutation.
/// `scaled`: values are multiplied by n/k, which makes the codec unbiased, with E||x - C[x]||^2 = (n/k - 1) ||x||^2,
/// but not a contraction. Products whose magnitude exceeds the largest float are clamped to it, with their sign.
/// Without `scaled`, E||x - C[x]||^2 = (1 - k/n) ||x||^2 (Stich et al. 2018, Lemma A.1): a contraction in expectation,
/// but not in every draw.
///
/// With recorded indices, the key holds the number of the recorded row that was used.
template <bool scaled>
struct RandomK {
  SentCount count;
  bool shared;
  RecordedIndices indices = {};

  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return n > 0 ? kKeyBytes + 4 * count.of(n) : 0; }
  double omega(Index n) const requires scaled { return factor(n) - 1; }
  /// Returns the costs. After the input is added, no pass reads the whole vector: only the values that are sent are
  /// read from their places.
  static netmodel::CodecPasses passes() {
    return {.encode = 12, .serve = 8, .decode = 4, .scattered = netmodel::kScatteredBytes / sizeof(float)};
  }
  void set_density(double density) { count = {density, 0}; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    if (in.n == 0) return 0;
    const Random& random = in.random;
    const auto key = indices.given()
                         ? PermutationKey{indices.row(random.step, random.worker), 0}
                         : PermutationKey::drawn(random.key, {random.step, shared ? -1 : random.worker, random.first});
    lanes.once([&] { store(out, key); });
    const KeyedPermutation order(key, in.n);
    lanes.each(count.of(in.n), [&, this](Index j) {
      const Index at = place(order, key, j);
      if (at < 0) return;
      float& y = in.y[at];
      const float value = scaled ? times(y, factor(in.n)) : y;
      store(out + kKeyBytes + 4 * j, value);
      y -= value;
    });
    return bytes(in.n);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    if (n == 0) return;
    const auto key = load<PermutationKey>(in);
    const KeyedPermutation order(key, n);
    lanes.each(count.of(n), [&, this](Index j) {
      const Index at = place(order, key, j);
      if (at >= 0) use(at, load<float>(in + kKeyBytes + 4 * j));
    });
  }

 private:
  static constexpr Index kKeyBytes = sizeof(PermutationKey);

  /// Index of the j-th element that is sent; negative if there is none.
  ONEBIT_HOST_DEVICE Index place(const KeyedPermutation& order, PermutationKey key, Index j) const {
    return indices.given() ? indices.at(key.low, j) : order(j);
  }
  ONEBIT_HOST_DEVICE double factor(Index n) const {
    return n > 0 ? static_cast<double>(n) / static_cast<double>(count.of(n)) : 1;
  }
  ONEBIT_HOST_DEVICE static float times(float value, double factor) {
    constexpr double largest = 0x1.fffffep127;
    const double product = static_cast<double>(value) * factor;
    return static_cast<float>(product > largest ? largest : (product < -largest ? -largest : product));
  }
};

}  // namespace onebit::compress
