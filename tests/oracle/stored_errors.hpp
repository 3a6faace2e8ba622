#pragma once
// Errors after storage in fewer bytes, computed in double.

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/oracle/vectors.hpp"

namespace onebit::oracle {

/// Rounds a number to bfloat16, ties to even; numbers beyond the largest bfloat16 become that.
inline double bfloat(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
  return std::clamp(rounded, -0x1.FEp127, 0x1.FEp127);
}

/// Rounds one row to steps of a 127th of the largest magnitude of each 256 elements.
inline Vector bytes(const std::vector<float>& row) {
  Vector result;
  for (std::size_t first = 0; first < row.size(); first += 256) {
    const std::size_t end = std::min(first + 256, row.size());
    double most = 0;
    for (std::size_t i = first; i < end; ++i) most = std::max(most, std::fabs(static_cast<double>(row[i])));
    for (std::size_t i = first; i < end; ++i) {
      result.push_back(most > 0 ? std::nearbyint(static_cast<double>(row[i]) / most * 127) * most / 127 : 0);
    }
  }
  return result;
}

}  // namespace onebit::oracle
