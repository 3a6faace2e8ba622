#pragma once
// Plain vectors of double, and their comparison.

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace onebit::oracle {

using Vector = std::vector<double>;
using Rows = std::vector<Vector>;  ///< one per worker

template <class Number>
double norm(const std::vector<Number>& values) {
  double squares = 0;
  for (const Number value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

/// ||a - b||_2; infinite for different sizes.
template <class A, class B>
double distance(const std::vector<A>& a, const std::vector<B>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    squares += difference * difference;
  }
  return std::sqrt(squares);
}

}  // namespace onebit::oracle
