#pragma once
// Codecs that send all elements of at least a given magnitude, which is fixed or renewed periodically.

#include "compress/codecs/sparse/sent_count.hpp"
#include "compress/codecs/sparse/sparse_payload.hpp"

namespace onebit::compress {

/// Threshold compression (Dutta et al. 2020): sends the elements with |y| >= `least` unchanged, but never zeros. It may
/// send none or all of them. Payload: SparsePayload with the number of elements. There is no bound relative to the
/// norm; the error is at most `least` per element.
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

/// DCT's data-parallel compressor (Gupta et al. 2021): sends every nonzero element whose magnitude is at least a
/// threshold. At steps that are multiples of `renew`, the threshold becomes the k-th largest magnitude; in between, it
/// is kept. Payload: as for Threshold. Between two renewals, there is no bound relative to the norm (no delta > 0).
///
/// Deviation: a vector without a threshold, at first or because it had fewer than k nonzero elements, gets one at the
/// next step, even if that is not a multiple of `renew`.
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
