#pragma once
// What probes measure, an element at a time.

#include "device/types.hpp"

namespace onebit::sim {

/// A term over tensors: offsets turn a tensor's element into the vector's.
template <class Term>
struct TensorTerm {
  const Index* offsets;
  Term term;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index tensor, Index i) const {
    return term(row, 0, offsets[tensor] + i);
  }
};

/// Squared difference of a row to a point.
struct DistanceTerm {
  const float* rows;
  Index stride;
  const float* point;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const double difference = static_cast<double>(rows[row * stride + i]) - static_cast<double>(point[i]);
    return difference * difference;
  }
};

struct PositiveTerm {
  const float* values;
  ONEBIT_HOST_DEVICE double operator()(Index, Index, Index i) const { return values[i] > 0.0f ? 1.0 : 0.0; }
};

/// Squares of another vector for each row.
struct VectorSquareTerm {
  static constexpr std::size_t most = 3;
  const float* vectors[most];

  struct Element {
    const float* values;
    ONEBIT_HOST_DEVICE double operator()(Index i) const {
      const auto value = static_cast<double>(values[i]);
      return value * value;
    }
  };
  ONEBIT_HOST_DEVICE Element bind(Index row, Index) const { return {vectors[row]}; }
};

}  // namespace onebit::sim
