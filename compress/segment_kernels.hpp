#pragma once
// Codecs that treat each segment of each row by itself: the maths is a method, a plain struct; these kernels run it
// over rows and segments.

#include <cmath>

#include "compress/bytes.hpp"
#include "compress/codec.hpp"

/// In a kernels.inl: the kernels of a method.
#define ONEBIT_SEGMENT_CODEC(Method)                              \
  ONEBIT_FOR_EACH_ITEM(onebit::compress::EncodeSegments<Method>); \
  ONEBIT_FOR_EACH_ITEM(onebit::compress::AddDecoded<Method>);     \
  ONEBIT_FOR_EACH_ITEM(onebit::compress::DecodeSegments<Method>)

namespace onebit::compress {

/// The random numbers of one row's segment: four words for every element of the parameter vector and step.
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
  float shared_max;  ///< largest |y| over all workers, each clipped, for a method that asks for it
  float* memory;     ///< one number that is kept from step to step; 0 at first
  Random random;
};

template <class Method>
struct EncodeSegments {
  Method method;
  const Segment* segments;
  Index count;  ///< segments
  const Index* offsets;
  const double* squares;
  const float* shared_max;
  Draw draw;
  float* errors;
  Index stride;
  std::uint8_t* body;
  Index row_bytes;
  Index* sizes;
  float* memory;

  ONEBIT_HOST_DEVICE void operator()(Index item) const {
    const Index row = item / count, segment = item % count;
    const Segment& s = segments[segment];
    const Random random{{draw.seed, draw.purpose}, draw.step, draw.first_row + row, s.parameter};
    const SegmentInput input{errors + row * stride + s.state,
                             s.active,
                             squares[item],
                             shared_max == nullptr ? 0.0f : shared_max[segment],
                             memory == nullptr ? nullptr : memory + item,
                             random};
    const Index used = method.encode(input, body + row * row_bytes + offsets[segment]);
    if (sizes != nullptr) sizes[item] = used;
  }
};

/// target += mean of the decoded rows, summed in double in `sums`.
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

  ONEBIT_HOST_DEVICE void operator()(Index segment) const {
    const Segment& s = segments[segment];
    double* sum = sums + s.state;
    for (Index i = 0; i < s.active; ++i) sum[i] = 0;
    for (Index row = 0; row < rows; ++row) {
      method.decode(body + row * row_bytes + offsets[segment], s.active,
                    [sum](Index i, float value) { sum[i] += static_cast<double>(value); });
    }
    float* out = target + (to_parameters ? s.parameter : s.state);
    const Index n = to_parameters ? s.real : s.active;
    const auto all = static_cast<double>(rows);
    for (Index i = 0; i < n; ++i) out[i] += static_cast<float>(sum[i] / all);
  }
};

/// The decoded real elements of one row.
template <class Method>
struct DecodeSegments {
  Method method;
  const Segment* segments;
  const Index* offsets;
  const std::uint8_t* row;
  float* parameters;

  ONEBIT_HOST_DEVICE void operator()(Index segment) const {
    const Segment& s = segments[segment];
    float* out = parameters + s.parameter;
    const Index n = s.real;
    for (Index i = 0; i < n; ++i) out[i] = 0;
    method.decode(row + offsets[segment], s.active, [out, n](Index i, float value) {
      if (i < n) out[i] = value;
    });
  }
};

/// clip root mean squares of y; clip 0: the largest number.
ONEBIT_HOST_DEVICE inline float clip_limit(const float* y, Index n, double clip) {
  if (clip == 0) return to_finite(HUGE_VAL);
  double squares = 0;
  for (Index i = 0; i < n; ++i) squares += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  return to_finite(clip * std::sqrt(squares / static_cast<double>(n)));
}

/// |y|, at most the limit.
ONEBIT_HOST_DEVICE inline float clipped(float y, float limit) {
  const float size = std::fabs(y);
  return size > limit ? limit : size;
}

/// largest[segment] = max |y| over the rows of a side, each clipped; NaN where there is one.
struct LargestKernel {
  const Segment* segments;
  const float* errors;
  Index stride;
  Index rows;
  double clip;
  float* largest;

  ONEBIT_HOST_DEVICE void operator()(Index segment) const {
    const Segment& s = segments[segment];
    float most = 0;
    for (Index row = 0; row < rows; ++row) {
      const float* y = errors + row * stride + s.state;
      const float limit = clip_limit(y, s.active, clip);
      for (Index i = 0; i < s.active; ++i) {
        const float size = clipped(y[i], limit);
        if (!(size <= most)) most = size;
      }
    }
    largest[segment] = most;
  }
};

}  // namespace onebit::compress
