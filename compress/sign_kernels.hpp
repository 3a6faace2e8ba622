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

  struct Element {
    const float* shared;
    const float* row;
    float* error;
    float shared_factor, factor;
    ScaleTerm term;
    ONEBIT_HOST_DEVICE double operator()(Index i) const {
      const float fresh = shared_factor * shared[i] + factor * row[i];
      const float y = fresh + error[i];
      error[i] = y;
      return term(y);
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    const Segment& s = segments[segment];
    return {input.shared + s.parameter,
            input.rows + row * input.stride + s.parameter,
            errors + row * stride + s.state,
            input.shared_factor,
            input.factors[row],
            term};
  }
};

/// Pass 1 where y is in the error already; `skip_real` starts behind a segment's real elements (the padding).
struct TermKernel {
  const Segment* segments;
  const float* errors;
  Index stride;
  bool skip_real;
  ScaleTerm term;

  struct Element {
    const float* error;
    ScaleTerm term;
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return term(error[i]); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    const Segment& s = segments[segment];
    return {errors + row * stride + s.state + (skip_real ? s.real : 0), term};
  }
};

/// sums += more.
struct AddKernel {
  double* sums;
  const double* more;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { sums[i] += more[i]; }
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

  struct Element {
    float* error;
    float scale;
    ONEBIT_HOST_DEVICE bool operator()(Index i) const {
      const float y = error[i];
      const bool plus = device::sent_as_plus(y);
      error[i] = y - (plus ? scale : -scale);
      return plus;
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    return {errors + row * stride + segments[segment].state, scales[row * segment_count + segment]};
  }
};

/// Server side, pass 1: the mean of the workers' decoded rows, summed in double, is added to the server error as the
/// float32 that it is; the norm's term of the sum.
struct ServeKernel {
  const Segment* segments;
  float* state;
  ScaleTerm term;

  struct Element {
    float* state;
    ScaleTerm term;
    ONEBIT_HOST_DEVICE double operator()(Index i, double mean) const {
      const float y = state[i] + static_cast<float>(mean);
      state[i] = y;
      return term(y);
    }
    /// On the CPU: the 16 elements from i on will be written soon.
    void prefetch(Index i) const { __builtin_prefetch(state + i, 1); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index segment) const { return {state + segments[segment].state, term}; }
};

/// The same without a norm.
struct AddMeanKernel {
  const Segment* segments;
  float* state;

  struct Element {
    float* state;
    ONEBIT_HOST_DEVICE void operator()(Index i, double mean) const { state[i] += static_cast<float>(mean); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index segment) const { return {state + segments[segment].state}; }
};

/// Writes the decoded value where the parameter is.
struct DecodeKernel {
  const Segment* segments;
  float* parameters;

  struct Element {
    float* parameters;
    ONEBIT_HOST_DEVICE void operator()(Index i, double value) const { parameters[i] = static_cast<float>(value); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index segment) const { return {parameters + segments[segment].parameter}; }
};

}  // namespace onebit::compress
