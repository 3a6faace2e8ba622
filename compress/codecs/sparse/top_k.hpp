#pragma once
// The largest elements of a vector, by exact selection or by a threshold from a sample.

#include "compress/codecs/keyed_permutation.hpp"
#include "compress/codecs/sparse/sent_count.hpp"
#include "compress/codecs/sparse/sparse_payload.hpp"

namespace onebit::compress {

/// Top-k (Aji and Heafield 2017; Stich et al. 2018): sends the k elements of largest magnitude unchanged. Of equal
/// magnitudes, the first ones are sent. Zeros are sent too if fewer than k elements are nonzero. Payload: SparsePayload
/// without the number of elements, which the receiver knows.
///
/// ||x - C[x]||^2 <= (1 - k/n) ||x||^2 (Stich et al. 2018, Lemma A.1), with equality if all magnitudes are equal.
template <bool gaps>
struct TopK {
  static constexpr bool kVariableSize = gaps;
  SentCount count;

  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return payload().bytes(n, count.of(n)); }
  double delta(Index n) const { return n > 0 ? static_cast<double>(count.of(n)) / static_cast<double>(n) : 1; }
  static double reads() { return kSelectionPasses; }
  void set_density(double density) { count = {density, 0}; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    return payload().write(in, largest_of(in.y, in.n, count.of(in.n), lanes), out, lanes);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    payload().read(in, n, count.of(n), use, lanes);
  }

 private:
  ONEBIT_HOST_DEVICE static SparsePayload payload() { return {false, gaps}; }
};

/// Deep Gradient Compression's selection (Lin et al. 2018, section 5.1): sends all elements whose magnitude is at least
/// a threshold. The threshold is taken from a sample of m elements without repetition: the sample's element of rank r =
/// round(k (m + 1) / (n + 1)), clamped to 1 .. m, whose expected rank among all elements is k. If more than 2k elements
/// reach the threshold, exactly the k largest are sent instead; if fewer than k do, no others are sent, and the rest
/// stays in the error. Zeros are never sent. Payload: SparsePayload with the number of elements.
///
/// Deviation: the sample has at least n/k elements, so it is expected to contain one of the k largest. The r largest
/// elements of a vector are always sent (or all nonzero ones, if there are fewer than r), so the bound of top-k holds
/// with r in place of k; it need not hold with k.
struct TopKSampled {
  static constexpr bool kVariableSize = true;
  SentCount count;
  double sample;
  SparsePayload payload;

  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return payload.bytes(n, most(n)); }
  double delta(Index n) const { return n > 0 ? static_cast<double>(rank(n)) / static_cast<double>(n) : 1; }
  /// Returns the number of passes that read y before the last one. For each sampled element, a GPU reads a sector of
  /// eight elements.
  double reads() const { return 1 + kSelectionPasses * 8 * sample; }
  void set_density(double density) { count = {density, 0}; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    Cut cut;
    if (in.n > 0) cut = at_least(in.y, in.n, threshold(in, lanes), lanes);
    if (cut.count > most(in.n)) cut = largest_of(in.y, in.n, count.of(in.n), lanes);
    return payload.write(in, cut, out, lanes);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    payload.read(in, n, 0, use, lanes);
  }

 private:
  struct Sample {
    const float* y;
    const KeyedPermutation& order;
    ONEBIT_HOST_DEVICE float operator()(Index i) const { return y[order(i)]; }
  };

  ONEBIT_HOST_DEVICE Index most(Index n) const {
    const Index k = count.of(n);
    return 2 * k < n ? 2 * k : n;
  }
  ONEBIT_HOST_DEVICE Index sample_size(Index n) const {
    const Index share = SentCount{sample, 0}.of(n), least = ceil_div(n, count.of(n));
    return share > least ? share : least;
  }
  ONEBIT_HOST_DEVICE Index rank(Index n) const {
    const Index size = sample_size(n);
    const double mean = static_cast<double>(count.of(n)) * static_cast<double>(size + 1);
    const auto nearest = static_cast<Index>(std::floor(mean / static_cast<double>(n + 1) + 0.5));
    return nearest < 1 ? 1 : (nearest < size ? nearest : size);
  }
  template <class Lanes>
  ONEBIT_DEVICE std::uint32_t threshold(const SegmentInput& in, const Lanes& lanes) const {
    const Random& random = in.random;
    const KeyedPermutation order(PermutationKey::drawn(random.key, {random.step, random.worker, random.first}), in.n);
    return largest(Sample{in.y, order}, sample_size(in.n), rank(in.n), lanes).magnitude;
  }
};

}  // namespace onebit::compress
