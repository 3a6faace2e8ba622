#pragma once
// Kernels of codecs that treat each segment of each row separately. These kernels run a method, a plain struct with the
// maths of one segment, over rows and segments.

#include <cmath>

#include "compress/codecs/bytes.hpp"
#include "compress/codecs/codec.hpp"

/// Instantiates the kernels of a method; used in kernels.inl files.
#define ONEBIT_SEGMENT_CODEC(Method)                                    \
  ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::EncodeSegments<Method>); \
  ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::AddDecoded<Method>);     \
  ONEBIT_FOR_EACH_LARGE_ITEM(onebit::compress::DecodeSegments<Method>)

namespace onebit::compress {

/// The random numbers of one segment of one row: four words per step and element of the parameter vector.
struct Random {
  device::RandomKey key;
  Index step = 0;
  Index worker = 0;
  Index first = 0;  ///< parameter index of the segment's first element

  /// Uniform on [0, 1), a multiple of 2^-24.
  ONEBIT_HOST_DEVICE float uniform(Index i) const { return device::uniform(key, {step, worker, first + i}); }
};

/// One segment of one row, to be encoded.
struct SegmentInput {
  float* y;          ///< [n] in: the values; out: the error y - decode(encode(y))
  Index n;           ///< elements
  double squares;    ///< sum of y^2
  float shared_max;  ///< largest |y| over all workers after clipping, for methods that need it
  float* memory;     ///< a number that is kept from step to step; initially 0
  Random random;
};

/// Encodes a segment with all lanes if the method supports that, otherwise with one. Calls done(bytes used) in one
/// lane.
template <class Method, class Lanes, class Done>
ONEBIT_DEVICE void encode_segment(const Method& method, const SegmentInput& in, std::uint8_t* out, const Lanes& lanes,
                                  const Done& done) {
  if constexpr (requires { method.encode(in, out, lanes); }) {
    const Index used = method.encode(in, out, lanes);
    lanes.once([&] { done(used); });
  } else {
    lanes.once([&] { done(method.encode(in, out)); });
  }
}

/// Calls use(i, value) for every element that was encoded, from any lane.
template <class Method, class Use, class Lanes>
ONEBIT_DEVICE void decode_segment(const Method& method, const std::uint8_t* in, Index n, const Use& use,
                                  const Lanes& lanes) {
  if constexpr (requires { method.decode(in, n, use, lanes); }) {
    method.decode(in, n, use, lanes);
  } else {
    lanes.once([&] { method.decode(in, n, use); });
  }
}

template <class Method>
struct EncodeSegments {
  Method method;
  const Segment* segments;
  Index count;  ///< segments
  const Index* offsets;
  const double* squares;
  const float* shared_max;
  RngKey key;
  float* errors;
  Index stride;
  std::uint8_t* body;
  Index row_bytes;
  Index* sizes;
  float* memory;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index item, const Lanes& lanes) const {
    const Index row = item / count, segment = item % count;
    const Segment& s = segments[segment];
    const Random random{{key.seed, key.purpose}, key.step, key.first_row + row, s.parameter};
    const SegmentInput input{errors + row * stride + s.state,
                             s.active,
                             squares[item],
                             shared_max == nullptr ? 0.0f : shared_max[segment],
                             memory == nullptr ? nullptr : memory + item,
                             random};
    encode_segment(method, input, body + row * row_bytes + offsets[segment], lanes, [this, item](Index used) {
      if (sizes != nullptr) sizes[item] = used;
    });
  }
};

/// Adds to `target` the mean of the decoded rows, which are summed in double in `sums`.
template <class Method>
struct AddDecoded {
  Method method;
  const Segment* segments;
  const Index* offsets;
  const std::uint8_t* body;
  Index row_bytes;
  Index rows;
  bool to_parameters;
  double* sums;  ///< [state]
  float* target;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index segment, const Lanes& lanes) const {
    const Segment& s = segments[segment];
    double* sum = sums + s.state;
    lanes.each(s.active, [sum](Index i) { sum[i] = 0; });
    for (Index row = 0; row < rows; ++row) {
      lanes.barrier();
      const auto add = [sum](Index i, float value) { sum[i] += static_cast<double>(value); };
      decode_segment(method, body + row * row_bytes + offsets[segment], s.active, add, lanes);
    }
    lanes.barrier();
    float* out = target + (to_parameters ? s.parameter : s.state);
    const auto all = static_cast<double>(rows);
    lanes.each(to_parameters ? s.real : s.active, [=](Index i) { out[i] += static_cast<float>(sum[i] / all); });
  }
};

/// Writes the decoded real elements of one row.
template <class Method>
struct DecodeSegments {
  Method method;
  const Segment* segments;
  const Index* offsets;
  const std::uint8_t* row;
  float* parameters;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index segment, const Lanes& lanes) const {
    const Segment& s = segments[segment];
    float* out = parameters + s.parameter;
    const Index n = s.real;
    lanes.each(n, [out](Index i) { out[i] = 0; });
    lanes.barrier();
    const auto place = [out, n](Index i, float value) {
      if (i < n) out[i] = value;
    };
    decode_segment(method, row + offsets[segment], s.active, place, lanes);
  }
};

/// Returns the clipping bound: `clip` times the root mean square of y, or the largest float if `clip` is 0.
template <class Lanes>
ONEBIT_DEVICE float clip_limit(const float* y, Index n, double clip, const Lanes& lanes) {
  if (clip == 0) return to_finite(HUGE_VAL);
  const double squares = lanes.sum(n, [y](Index i) { return static_cast<double>(y[i]) * static_cast<double>(y[i]); });
  return to_finite(clip * std::sqrt(squares / static_cast<double>(n)));
}

/// |y|, at most the limit.
ONEBIT_HOST_DEVICE inline float clipped(float y, float limit) {
  const float size = std::fabs(y);
  return size > limit ? limit : size;
}

/// Computes largest[segment] = max |y| over the rows of a table, after clipping.
struct LargestKernel {
  const Segment* segments;
  const float* errors;
  Index stride;
  Index rows;
  double clip;
  float* largest;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index segment, const Lanes& lanes) const {
    const Segment& s = segments[segment];
    float most = 0;
    for (Index row = 0; row < rows && s.active > 0; ++row) {
      const float* y = errors + row * stride + s.state;
      const float limit = clip_limit(y, s.active, clip, lanes);
      const float size = lanes.largest(s.active, [y, limit](Index i) { return clipped(y[i], limit); });
      most = size > most ? size : most;
    }
    lanes.once([&] { largest[segment] = most; });
  }
};

}  // namespace onebit::compress
