#pragma once
// Terms that probes sum, one element at a time.

#include "device/base/types.hpp"

namespace onebit::sim {

/// Applies a term, whose indices count from the start of the whole vector, to the elements of each tensor; the tensors
/// occupy the given ranges.
template <class Term>
struct TensorTerm {
  const Range* tensors;
  Term term;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index tensor, Index i) const {
    return term(row, 0, tensors[tensor].first + i);
  }
};

/// Squared difference between a row and a point.
struct DistanceTerm {
  const float* rows;
  Index stride;
  const float* point;
  ONEBIT_HOST_DEVICE double operator()(Index row, Index, Index i) const {
    const double difference = static_cast<double>(rows[row * stride + i]) - static_cast<double>(point[i]);
    return difference * difference;
  }
};

/// What is summed over a vector's elements.
enum class Measure { square, absolute, positive };

/// A term whose rows are independent sums, each with its own vector and measure.
struct MeasureTerm {
  static constexpr std::size_t most = 5;

  struct Element {
    const float* values;
    Measure measure;
    ONEBIT_HOST_DEVICE double operator()(Index i) const {
      const auto value = static_cast<double>(values[i]);
      const double size = measure == Measure::square ? value * value : (value < 0 ? -value : value);
      return measure == Measure::positive ? (value > 0 ? 1.0 : 0.0) : size;
    }
  };
  Element rows[most];
  ONEBIT_HOST_DEVICE Element bind(Index row, Index) const { return rows[row]; }
};

}  // namespace onebit::sim
