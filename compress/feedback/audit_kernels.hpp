#pragma once
// Balances of error feedback, one element at a time.

#include "compress/codecs/codec.hpp"

namespace onebit::compress {

/// Writes errors to the places of their parameters: out = factor * error. Yields 0.
struct PlaceErrorsKernel {
  const Segment* segments;
  const float* errors;
  Index stride;
  float factor;
  float* out;
  Index out_stride;

  struct Element {
    const float* error;
    float factor;
    float* out;
    ONEBIT_HOST_DEVICE float load(Index i) const { return error[i]; }
    ONEBIT_HOST_DEVICE double store(Index i, float e) const {
      out[i] = factor * e;
      return 0;
    }
    ONEBIT_HOST_DEVICE double operator()(Index i) const { return store(i, load(i)); }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index segment) const {
    const Segment& s = segments[segment];
    return {errors + row * stride + s.state, factor, out + row * out_stride + s.parameter};
  }
};

/// Yields what an element contributes to the squared norms of a FeedbackBalance: row r belongs to member r of that
/// struct, counted from 0.
struct BalanceTerm {
  static constexpr Index count = 5;
  const float* input;
  const float* result;
  const float* workers_before;
  const float* servers_before;
  const float* workers_kept;
  const float* workers_after;  ///< before they were rounded for storage
  const float* servers_after;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    if (row == 4) {
      const double rounded = static_cast<double>(workers_after[i]) - static_cast<double>(workers_kept[i]);
      return rounded * rounded;
    }
    const double workers = workers_before[i], servers = servers_before[i];
    const double left = static_cast<double>(input[i]) + workers + servers;
    double value = left;
    if (row > 0) {
      value -= static_cast<double>(result[i]);
      value -= static_cast<double>(workers_after[i]) + static_cast<double>(servers_after[i]);
    }
    if (row == 2) value -= workers;
    if (row == 3) value -= servers;
    return value * value;
  }
};

}  // namespace onebit::compress
