#pragma once
// Draws random elements without repetition, without storing the elements already drawn.

#include "compress/codecs/bit_stream.hpp"
#include "device/math/philox.hpp"

namespace onebit::compress {

/// 64 random bits from which every worker computes the same permutation.
struct PermutationKey {
  std::uint32_t low = 0;
  std::uint32_t high = 0;

  ONEBIT_HOST_DEVICE static PermutationKey drawn(device::RandomKey key, device::RandomCounter counter) {
    const auto words = device::philox(key, counter);
    return {words[0], words[1]};
  }
};

/// A permutation of [0, n): a Feistel network on the numbers below the next power of two, applied until the result is
/// below n (cycle walking, Black and Rogaway 2002), then a rotation. The rotation is uniform: each element ends up at
/// any given place with probability 1/n, with an error of at most n/2^64, regardless of the quality of the network.
class KeyedPermutation {
 public:
  ONEBIT_HOST_DEVICE KeyedPermutation(PermutationKey key, Index n) : n_(n), low_(bit_width(n - 1) / 2) {
    high_ = bit_width(n - 1) - low_;
    const device::RandomKey words{key.low, static_cast<device::Purpose>(key.high)};
    const auto first = device::philox(words, {0, 0, 0}), second = device::philox(words, {0, 0, 1});
    for (unsigned i = 0; i < 4; ++i) {
      rounds_[i] = first[i];
      rounds_[4 + i] = second[i];
    }
    rotation_ = device::uniform_index(words, {0, 0, 2}, n);
  }

  /// Returns the element at place i of the permutation, for n > 0 and 0 <= i < n.
  ONEBIT_HOST_DEVICE Index operator()(Index i) const {
    do i = scrambled(i);
    while (i >= n_);
    i += rotation_;
    return i < n_ ? i : i - n_;
  }

 private:
  ONEBIT_HOST_DEVICE Index scrambled(Index i) const {
    const std::uint64_t low_mask = (std::uint64_t{1} << low_) - 1, high_mask = (std::uint64_t{1} << high_) - 1;
    std::uint64_t low = static_cast<std::uint64_t>(i) & low_mask, high = static_cast<std::uint64_t>(i) >> low_;
    for (int r = 0; r < 8; r += 2) {
      high ^= mixed(low, rounds_[r]) & high_mask;
      low ^= mixed(high, rounds_[r + 1]) & low_mask;
    }
    return static_cast<Index>((high << low_) | low);
  }
  /// MurmurHash3's last step (Appleby, public domain).
  ONEBIT_HOST_DEVICE static std::uint64_t mixed(std::uint64_t half, std::uint32_t key) {
    std::uint32_t h = static_cast<std::uint32_t>(half) + key;
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    return h ^ (h >> 16);
  }

  Index n_;
  int low_, high_;  ///< bits of the halves
  std::uint32_t rounds_[8];
  Index rotation_;
};

}  // namespace onebit::compress
