#pragma once
// The maths of the sign codec, one element at a time.

#include <cmath>

#include "compress/codecs/codec.hpp"
#include "device/math/sign_bits.hpp"

namespace onebit::compress {

/// The scale of a sign vector: ||y||_2 / sqrt(d) (DeepSpeed, 1-bit Adam), ||y||_1 / d (EF-signSGD), or 1 (signSGD).
enum class ScaleNorm { l2, l1, unit };

struct ScaleTerm {
  ScaleNorm norm;
  ONEBIT_HOST_DEVICE double operator()(float y) const {
    const auto wide = static_cast<double>(y);
    return norm == ScaleNorm::l2 ? wide * wide : std::fabs(wide);
  }
  ONEBIT_HOST_DEVICE float scale(double sum, Index elements) const {
    if (norm == ScaleNorm::unit) return 1.0f;
    if (elements == 0) return 0.0f;
    const double mean = sum / static_cast<double>(elements);
    return static_cast<float>(norm == ScaleNorm::l2 ? std::sqrt(mean) : mean);
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

/// Pass 2: yields the bit, and stores y - scale * sign(y) in the error.
struct SignKernel {
  const Segment* segments;
  Index segment_count;
  const float* scales;
  float* errors;
  Index stride;

  struct Element {
    float* error;
    float scale;
    ONEBIT_HOST_DEVICE float load(Index i) const { return error[i]; }
    ONEBIT_HOST_DEVICE bool store(Index i, float y) const {
      const bool plus = device::sent_as_plus(y);
      error[i] = y - (plus ? scale : -scale);
      return plus;
    }
    ONEBIT_HOST_DEVICE bool operator()(Index i) const { return store(i, load(i)); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    return {errors + row * stride + segments[segment].state, scales[row * segment_count + segment]};
  }
};

struct SecondPass {
  ScaleKernel scale;
  SignKernel bit;
};

/// The kernels of both passes, for reduce_and_pack.
template <class SumKernel>
struct BothPasses : SecondPass {
  SumKernel sum;
};

/// Pass 1 of a server: adds the mean of the workers' decoded rows, summed in double and rounded to float32, to the
/// server error. Yields what the resulting error contributes to the sum from which the scale is computed.
struct ServeKernel {
  const Segment* segments;
  float* state;
  ScaleTerm term;

  struct Element {
    float* state;
    ScaleTerm term;
    ONEBIT_HOST_DEVICE float load(Index i) const { return state[i]; }
    ONEBIT_HOST_DEVICE double store(Index i, float before, double mean) const {
      const float y = before + static_cast<float>(mean);
      state[i] = y;
      return term(y);
    }
    ONEBIT_HOST_DEVICE double operator()(Index i, double mean) const { return store(i, load(i), mean); }
    /// On the CPU, prefetches 16 elements for writing, starting at i.
    void prefetch(Index i) const { __builtin_prefetch(state + i, 1); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index segment) const { return {state + segments[segment].state, term}; }
};

/// Adds the mean of the workers' decoded rows to the target; yields nothing.
struct AddSignMeanKernel {
  const Segment* segments;
  bool to_parameters;
  float* target;

  struct Element {
    float* target;
    ONEBIT_HOST_DEVICE void operator()(Index i, double mean) const { target[i] += static_cast<float>(mean); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index segment) const {
    const Segment& s = segments[segment];
    return {target + (to_parameters ? s.parameter : s.state)};
  }
};

/// Writes the decoded value to its parameter.
struct DecodeSignKernel {
  const Segment* segments;
  float* parameters;

  struct Element {
    float* parameters;
    ONEBIT_HOST_DEVICE void operator()(Index i, double value) const { parameters[i] = static_cast<float>(value); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index segment) const { return {parameters + segments[segment].parameter}; }
};

}  // namespace onebit::compress
