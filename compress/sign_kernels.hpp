#pragma once
// The maths of the sign codec, an element at a time.

#include <cmath>

#include "compress/codec.hpp"
#include "device/sign_bits.hpp"

namespace onebit::compress {

/// What the scale of a sign vector is made of: ||y||_2 / sqrt(d) (DeepSpeed, 1-bit Adam) or ||y||_1 / d (EF-signSGD).
enum class ScaleNorm { l2, l1 };

struct ScaleTerm {
  ScaleNorm norm;
  ONEBIT_HOST_DEVICE double operator()(float y) const {
    const auto wide = static_cast<double>(y);
    return norm == ScaleNorm::l2 ? wide * wide : std::fabs(wide);
  }
  ONEBIT_HOST_DEVICE float scale(double sum, Index elements) const {
    if (elements == 0) return 0.0f;
    const double mean = sum / static_cast<double>(elements);
    return static_cast<float>(norm == ScaleNorm::l2 ? std::sqrt(mean) : mean);
  }
};

/// Pass 1 on real elements of a worker: y = shared_factor * shared + factor * row + error into the error; the norm's
/// term.
struct FeedKernel {
  const Segment* segments;
  EncodeInput input;
  float* errors;
  Index stride;
  ScaleTerm term;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index segment, Index i) const {
    const Index parameter = segments[segment].parameter + i;
    const float fresh =
        input.shared_factor * input.shared[parameter] + input.factors[row] * input.rows[row * input.stride + parameter];
    float& error = errors[row * stride + segments[segment].state + i];
    error = fresh + error;
    return term(error);
  }
};

/// Pass 1 where y is in the error already; `skip_real` starts behind a segment's real elements (the padding).
struct TermKernel {
  const Segment* segments;
  const float* errors;
  Index stride;
  bool skip_real;
  ScaleTerm term;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index segment, Index i) const {
    const Index begin = segments[segment].state + (skip_real ? segments[segment].real : 0);
    return term(errors[row * stride + begin + i]);
  }
};

struct ScaleKernel {
  const Segment* segments;
  Index segment_count;
  const double* sums;
  float* scales;
  ScaleTerm term;
  ONEBIT_HOST_DEVICE void operator()(Index i) const {
    scales[i] = term.scale(sums[i], segments[i % segment_count].active);
  }
};

/// Pass 2: the bit, and y - scale * sign(y) into the error.
struct SignKernel {
  const Segment* segments;
  Index segment_count;
  const float* scales;
  float* errors;
  Index stride;
  ONEBIT_HOST_DEVICE bool operator()(Index row, Index segment, Index i) const {
    const float scale = scales[row * segment_count + segment];
    float& error = errors[row * stride + segments[segment].state + i];
    const bool plus = device::sent_as_plus(error);
    error = error - (plus ? scale : -scale);
    return plus;
  }
};

/// Server side: the mean of the workers' decoded rows is added to the server error.
struct AddMeanKernel {
  const Segment* segments;
  float* state;
  ONEBIT_HOST_DEVICE void operator()(Index segment, Index i, double mean) const {
    float& y = state[segments[segment].state + i];
    y = static_cast<float>(static_cast<double>(y) + mean);
  }
};

struct DecodeKernel {
  const Segment* segments;
  const std::uint8_t* bits;
  const float* scales;
  float* parameters;
  ONEBIT_HOST_DEVICE void operator()(Index, Index segment, Index i) const {
    const Segment& s = segments[segment];
    parameters[s.parameter + i] = device::sign_at(bits + s.bytes, i) * scales[segment];
  }
};

}  // namespace onebit::compress
