#pragma once
// Kernels of error feedback, one element at a time: the input of an encoding, and measurements of it.

#include <cmath>

#include "compress/codecs/codec.hpp"

namespace onebit::compress {

/// Which parts of EncodeInput are given.
enum class Feed { rows, shared, weighted };

/// Stores y = weights * (shared_factor * shared + factor * row) + error in the error of a real element; yields term(y).
template <Feed kind, class Term>
struct FeedKernel {
  const Segment* segments;
  EncodeInput input;
  float* errors;
  Index stride;
  Term term;

  struct Element {
    const float* shared;
    const float* row;
    const float* weights;
    float* error;
    float shared_factor, factor;
    Term term;
    ONEBIT_HOST_DEVICE float load(Index i) const {
      float fresh = factor * row[i];
      if (kind != Feed::rows) fresh = shared_factor * shared[i] + fresh;
      if (kind == Feed::weighted) fresh = weights[i] * fresh;
      return fresh + error[i];
    }
    ONEBIT_HOST_DEVICE double store(Index i, float y) const {
      error[i] = y;
      return term(y);
    }
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return store(i, load(i)); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    const Segment& s = segments[segment];
    return {kind == Feed::rows ? nullptr : input.shared + s.parameter,
            input.rows + row * input.stride + s.parameter,
            kind == Feed::weighted ? input.weights + s.parameter : nullptr,
            errors + row * stride + s.state,
            input.shared_factor,
            input.factors[row],
            term};
  }
};

/// Yields term(y) for errors that already hold y. With `skip_real`, element 0 is the first padding element of a
/// segment; padding follows the real elements.
template <class Term>
struct TermKernel {
  const Segment* segments;
  const float* errors;
  Index stride;
  bool skip_real;
  Term term;

  struct Element {
    const float* error;
    Term term;
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return term(error[i]); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    const Segment& s = segments[segment];
    return {errors + row * stride + s.state + (skip_real ? s.real : 0), term};
  }
};

/// Computes sums += more.
struct AddKernel {
  double* sums;
  const double* more;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { sums[i] += more[i]; }
};

struct SquareOfTerm {
  ONEBIT_HOST_DEVICE double operator()(float y) const { return static_cast<double>(y) * static_cast<double>(y); }
};

/// Yields y^2 = (e + C[y])^2 of an encoded y, from the error e that was left and the decoded C[y].
struct EncodedSquareKernel {
  const Segment* segments;
  const float* errors;
  Index stride;
  const float* decoded;
  Index decoded_stride;

  struct Element {
    const float* error;
    const float* decoded;
    ONEBIT_HOST_DEVICE double operator()(Index i) const {
      const double y = static_cast<double>(error[i]) + static_cast<double>(decoded[i]);
      return y * y;
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    const Segment& s = segments[segment];
    return {errors + row * stride + s.state, decoded + row * decoded_stride + s.parameter};
  }
};

/// Yields 1 for an element that was sent (its C[y] is not 0), else 0.
struct SentKernel {
  const Segment* segments;
  const float* decoded;
  Index stride;

  struct Element {
    const float* decoded;
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return decoded[i] != 0.0f ? 1.0 : 0.0; }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    return {decoded + row * stride + segments[segment].parameter};
  }
};

/// Computes the workers' rows of a tensor that is kept dense: elements [first, first + size) of the parameter vector,
/// without errors.
struct DenseRowKernel {
  EncodeInput input;
  Index first;
  Index size;
  float* rows;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    const Index p = first + i;
    float fresh = input.factors[row] * input.rows[row * input.stride + p];
    if (input.shared != nullptr) fresh = input.shared_factor * input.shared[p] + fresh;
    if (input.weights != nullptr) fresh = input.weights[p] * fresh;
    rows[row * size + i] = fresh;
  }
};

struct ClearKernel {
  float* values;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { values[i] = 0; }
};

/// Refuses a segment whose sum is not finite: stores -1 - (place in the errors of the first element that is not finite)
/// in refused[item] and sets all its elements to 0, so that encoders get only finite numbers. For other segments,
/// refused[item] = 0. Item: a segment of a row.
struct RefuseKernel {
  const Segment* segments;
  Index segment_count;
  double* sums;
  float* errors;
  Index stride;
  Index* refused;

  template <class Lanes>
  ONEBIT_DEVICE void operator()(Index item, const Lanes& lanes) const {
    const Segment& s = segments[item % segment_count];
    float* y = errors + item / segment_count * stride + s.state;
    if (sums[item] < HUGE_VAL) return lanes.once([&] { refused[item] = 0; });
    lanes.barrier();
    lanes.once([&] {
      Index first = 0;
      while (std::fabs(y[first]) < HUGE_VALF) ++first;
      refused[item] = -1 - (s.state + first);
      sums[item] = 0;
    });
    lanes.barrier();
    lanes.each(s.active, [y](Index i) { y[i] = 0; });
  }
};

/// Copies the errors of a segment from a row of one layout to a row of another, in which they may lie elsewhere.
struct CopyErrorsKernel {
  const float* from;
  Index from_stride;
  float* to;
  Index to_stride;
  ONEBIT_HOST_DEVICE void operator()(Index row, Index i) const {
    to[row * to_stride + i] = from[row * from_stride + i];
  }
};

/// Computes values *= factor.
struct ScaleErrorsKernel {
  float* values;
  float factor;
  ONEBIT_HOST_DEVICE void operator()(Index i) const { values[i] *= factor; }
};

}  // namespace onebit::compress
