#pragma once
// All elements from a magnitude on: a fixed one, and one that is renewed from time to time.

#include "compress/codecs/sparse/sent_count.hpp"
#include "compress/codecs/sparse/sparse_payload.hpp"

namespace onebit::compress {

/// Threshold compression (Dutta et al. 2020): the elements with |y| >= `least`, as they are; zeros never. None may be
/// sent, or all. Payload: SparsePayload, with their number counted. No bound relative to the norm: what is left is at
/// most `least` an element.
struct Threshold {
  static constexpr bool kVariableSize = true;
  float least;
  SparsePayload payload;

  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return payload.bytes(n, n); }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    return payload.write(in, at_least(in.y, in.n, magnitude(least), lanes), out, lanes);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    payload.read(in, n, 0, use, lanes);
  }
};

/// DCT's data-parallel compressor (Gupta et al. 2021): all elements of at least a threshold's magnitude. The threshold
/// is the k-th largest magnitude in the steps that are multiples of `renew`, and kept in between; at the threshold all
/// are sent, zeros never. Payload: as Threshold. No bound between two renewals.
///
/// Deviation: a vector without a threshold, at first or because it had fewer than k elements other than 0, finds one in
/// any step.
struct Dct {
  static constexpr bool kVariableSize = true, kMemory = true;
  SentCount count;
  Index renew;
  SparsePayload payload;

  ONEBIT_HOST_DEVICE Index bytes(Index n) const { return payload.bytes(n, n); }
  void set_density(double density) { count = {density, 0}; }

  template <class Lanes>
  ONEBIT_DEVICE Index encode(const SegmentInput& in, std::uint8_t* out, const Lanes& lanes) const {
    std::uint32_t least = magnitude(*in.memory);
    if (in.n > 0 && (least == 0 || in.random.step % renew == 0)) {
      least = largest_of(in.y, in.n, count.of(in.n), lanes).magnitude;
      lanes.once([&] { *in.memory = bits_as<float>(least); });
    }
    return payload.write(in, at_least(in.y, in.n, least, lanes), out, lanes);
  }
  template <class Use, class Lanes>
  ONEBIT_DEVICE void decode(const std::uint8_t* in, Index n, const Use& use, const Lanes& lanes) const {
    payload.read(in, n, 0, use, lanes);
  }
};

}  // namespace onebit::compress
